"""The subject of a page: a program, its source, and how it is rewritten and lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from riselang.compiler.pipeline import prepare_for_lowering, rewrite
from riselang.compiler.rewritten_program import Program
from riselang.rewrite.derivation import Derivation

if TYPE_CHECKING:
    from riselang.api.traced import Traced
    from riselang.compiler.compilation import Compilation
    from riselang.frontends.c.c_program import CProgram
    from riselang.rewrite.core import Strategy
    from riselang.support.config import Options
    from riselang.term.nodes import Term


@dataclass(frozen=True)
class SourceText:
    """A file as its author wrote it."""

    file: str
    language: str
    """rise, python, mlir, stablehlo or c."""
    text: str


@dataclass(frozen=True)
class Subject:
    """A program to explore."""

    name: str
    source: SourceText
    term: Term
    """The program as written."""
    options: Options
    strategy: Strategy | None
    lower: Callable[[Term, Options], Compilation]
    """Lowers the rewritten program."""
    results: int = 1
    """The number of arrays that the program returns."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    notes: tuple[str, ...] = ()
    """Remarks for the reader on how the program was loaded."""
    loops: CProgram | None = None
    """The C loops that it was lifted from."""

    def derivation(self) -> Derivation:
        """Rewrite the program; the derivation has no steps if nothing changes."""
        program = Program(self.name, self.term, self.results)
        result = rewrite(program, self.strategy, self.options)
        # A derivation without steps is falsy, so compare with None.
        if result.derivation is not None:
            return result.derivation
        start = result.program.term
        return Derivation(start, (), start, "none", self.options.float)

    def compilation(self, term: Term) -> Compilation:
        """Lower a contracted program, preserving its locations in all stages."""
        options = replace(self.options, contracted=True, debug_info=True)
        return self.lower(term, options)


def make_subject(
    traced: Traced, source: SourceText, sizes: Mapping[str, int], notes: tuple[str, ...] = ()
) -> Subject:
    """Return the subject of a kernel, for given or symbolic sizes."""

    def lower(term: Term, options: Options) -> Compilation:
        from riselang.compiler.compilation import Compilation
        from riselang.compiler.program_sources import TermSource

        program = prepare_for_lowering(Program(traced.name, term, traced.results), options)
        return Compilation(TermSource(program.name, program.term, program.results), options)

    return Subject(
        traced.name, source, traced.term, traced.options, traced.strategy, lower, traced.results,
        sizes, notes,
    )  # fmt: skip
