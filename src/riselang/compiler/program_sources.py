"""Sources of lowering: a term, or a module that contains programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from riselang.compiler.signatures import Signature
from riselang.dialects.module import functions, location_of
from riselang.lowering.cloning import clone_for_lowering
from riselang.lowering.passes.convert_rise_to_imperative import Units
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property
from riselang.term.from_dialect import Unit, read_units
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module, program_shell


@dataclass(frozen=True)
class TermSource:
    """One program as a term, which is lowered directly."""

    name: str
    term: Term
    results: int

    @cached_property
    def module(self) -> ModuleOp:
        """The program as ops of the dialect."""
        return program_module(self.term, self.name, self.results)

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The signature of the function before lowering."""
        shell = program_shell(self.term, self.name, self.results)
        return (Signature.of_shell(shell, self.term),)

    def copy_for_lowering(self) -> tuple[ModuleOp, dict[FuncOp, Units]]:
        """Return a new module to lower, and the programs that replace its empty units."""
        shell = program_shell(self.term, self.name, self.results)
        unit = Unit(self.term, shell.inputs, shell.outputs)
        return shell.module, {shell.function: [(shell.unit, unit)]}

    def terms(self, name: str) -> list[Term]:
        """Return the programs of a function."""
        return [self.term]

    def declaration_location(self, name: str) -> SourceLocation | None:
        """Return the location at which a function is declared."""
        return self.term.location


@dataclass(frozen=True)
class ModuleSource:
    """A verified module of the dialect and others, parsed from text or produced by passes."""

    module: ModuleOp
    selected_ops: Sequence[Operation] | None = None
    """The ops to compile; None for all."""

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the functions before lowering."""
        if self.selected_ops is None:
            return tuple(map(Signature.of, functions(self.module)))
        selected = [
            op for op in self.selected_ops if isinstance(op, FuncOp) and not op.is_declaration
        ]
        return tuple(map(Signature.of, selected))

    def copy_for_lowering(self) -> tuple[ModuleOp, dict[FuncOp, Units]]:
        """Return a new module to lower, and the programs that replace its empty units."""
        return clone_for_lowering(self.module, self.selected_ops or list(self.module.ops))

    def terms(self, name: str) -> list[Term]:
        """Return the programs of a function."""
        (function,) = (each.function for each in self.signatures if each.name == name)
        return [unit.term for _, unit in read_units(function)]

    def declaration_location(self, name: str) -> SourceLocation | None:
        """Return the location at which a function is declared."""
        declarations = (op for op in self.module.ops if isinstance(op, FuncOp))
        return next((location_of(op) for op in declarations if op.sym_name.data == name), None)


Source = TermSource | ModuleSource
"""Programs with their input and output buffers."""
