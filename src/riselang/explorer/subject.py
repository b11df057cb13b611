"""What is explored: a program, where it was written, and how it is rewritten and lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from riselang.api.lowered import Lowered
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, default_derivation
from riselang.rewrite.derivation import Derivation, derive
from riselang.term.contraction import contract
from riselang.timing import timed

if TYPE_CHECKING:
    from riselang.api.compile import Compilation
    from riselang.api.traced import Traced
    from riselang.config import Options
    from riselang.rewrite.core import Strategy
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
    """As it was written."""
    options: Options
    strategy: Strategy | None
    lower: Callable[[Term, Options], Compilation]
    """The stages of the program once it is rewritten."""
    results: int = 1
    """How many arrays it gives."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    notes: tuple[str, ...] = ()
    """What a reader should know of how it was read."""

    @property
    def contracted(self) -> Term:
        """Contraction is decided on the program as it was written, before anything moves."""
        return self.term if self.options.float == "strict" else contract(self.term)

    def derivation(self) -> Derivation:
        """How the program is rewritten; no steps where it stays as it is."""
        start = self.contracted
        found: Derivation | None = None
        with timed("rewrite"):
            if self.strategy is DEFAULT:
                setting = Setting(self.options.float)
                found = default_derivation(start, setting) if self._may_default else None
            elif self.strategy is not None:
                found = derive(start, self.strategy, self.options.float)
        # One without steps counts as nothing, but is one.
        if found is not None:
            return found
        return Derivation(start, (), start, "none", self.options.float)

    @property
    def _may_default(self) -> bool:
        return self.options.library == "none" and self.options.loops != "polyhedral"

    def compilation(self, term: Term) -> Compilation:
        """The stages of a program that is contracted, and keeps its locations to the end."""
        options = replace(self.options, contracted=True, debug_info=True)
        return self.lower(term, options)


def traced_subject(
    traced: Traced, source: SourceText, sizes: Mapping[str, int], notes: tuple[str, ...] = ()
) -> Subject:
    """A kernel for given sizes, or for all."""

    def lower(term: Term, options: Options) -> Compilation:
        return Lowered(traced.name, term, traced.results, options).compilation

    return Subject(
        traced.name, source, traced.term, traced.options, traced.strategy, lower, traced.results,
        sizes, notes,
    )  # fmt: skip
