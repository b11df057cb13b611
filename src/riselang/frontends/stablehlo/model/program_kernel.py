"""The program of a model as a kernel, which is lowered and compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riselang.api.kernel import Kernel
from riselang.dialects.rise.types import RiseType
from riselang.frontends.stablehlo.model.origin import Signature
from riselang.nat import Nat
from riselang.rewrite.core import Strategy
from riselang.support.config import Options
from riselang.support.structures import Interface
from riselang.term.complex_numbers import as_complex
from riselang.term.nodes import Term, parameter_names

if TYPE_CHECKING:
    from riselang.frontends.stablehlo.lowering import Program


class ProgramKernel(Kernel):
    """A program for one set of shapes: its arguments, then its constants."""

    def __init__(self, program: Program, backend: str, options: Options, strategy: Strategy | None):
        self.program = program
        names = [*program.argument_names, *parameter_names(program.term)[len(program.arguments) :]]
        types: list[RiseType] = []
        rest: Any = program.term.type
        for _ in names:
            types.append(rest.input)
            rest = rest.output
        self._interface = Signature.of(program).interface
        for position, is_complex in enumerate(self._interface.complex_inputs):
            if is_complex:
                types[position] = as_complex(types[position])
        super().__init__(program.name, names, types, backend, options, strategy)

    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        return self.program.term, len(self.program.results)

    def interface_of(self, source: Term) -> Interface:
        return self._interface
