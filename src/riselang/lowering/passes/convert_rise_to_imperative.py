"""Pass `convert-rise-to-imperative`: runs phase 1 on every lowering unit of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import functions, location_of, walk
from riselang.dialects.rise.codegen import CastOp
from riselang.dialects.rise.types import uncurry
from riselang.lowering.callees import Callees
from riselang.lowering.divisions import divide_by_shifts
from riselang.lowering.dynamic_sizes import Buffers, Sizes
from riselang.lowering.imperative import lower_program
from riselang.lowering.passes.contract_rise_floats import can_contract
from riselang.lowering.runtime_checks import CheckLocations, Checks, add_failure_parameters
from riselang.lowering.vector_removal import replace_unsupported_vectors
from riselang.pipelines import GPU
from riselang.support.errors import RiseError, UserError
from riselang.support.recursion import with_deep_stack
from riselang.term.contraction import contract
from riselang.term.from_dialect import Unit, read_units
from riselang.term.nodes import Lambda, Term

Units = list[tuple[Operation, Unit]]
"""Programs, and the ops that their loops replace."""


@dataclass(frozen=True)
class ConvertRiseToImperativePass(ModulePass):
    """Lowers functional RISE to loops over `rise.codegen` access paths.

    If the module permits it, floats are contracted first.
    """

    name = "convert-rise-to-imperative"

    loops: str = "scf"
    """The loop dialect of patterns that do not say `{to = ...}`: scf or affine."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.loops not in ("scf", "affine", GPU):
            raise UserError(
                f"{self.name}: expected loops=scf, loops=affine or loops={GPU}, but "
                f"found {self.loops}"
            )
        convert_module(
            op, {function: read_units(function) for function in functions(op)}, self.loops
        )


@with_deep_stack
def convert_module(module: ModuleOp, programs: Mapping[FuncOp, Units], loops: str) -> None:
    """Lower the programs of each function, which are given as terms."""
    source_locations = CheckLocations()
    checks: list[Checks] = []

    def fill(
        function: Lambda,
        inputs: Sequence[SSAValue],
        target: SSAValue,
        point: InsertPoint,
        sizes: Sizes,
        own_checks: Checks,
    ) -> None:
        lower_program(function, inputs, target, point, loops, False, sizes, own_checks, callees)

    def prepare(term: Term) -> Term:
        term = contract(term) if can_contract(module) else term
        return replace_unsupported_vectors(divide_by_shifts(term), has_library=loops != GPU)

    callees = Callees(module, source_locations, fill)
    for function in functions(module):
        checks.append(Checks(function.body.blocks[0], source_locations))
        _lower_function(function, programs[function], loops, checks[-1], prepare, callees)
    add_failure_parameters(module, [*checks, *callees.checks], source_locations)
    callees.mark_noalias()


def _lower_function(
    function: FuncOp,
    programs: Units,
    loops: str,
    checks: Checks,
    prepare: Callable[[Term], Term],
    callees: Callees,
) -> None:
    sizes = Sizes(function, [group for _, unit in programs for group in _unit_buffers(unit)])
    for op, unit in programs:
        try:
            unit = replace(unit, term=prepare(unit.term))
            _lower_unit(op, unit, loops, sizes, checks, callees)
        except RiseError as error:
            raise error.with_location(location_of(op)) from None
    _erase_dead_ops(function)


def _unit_buffers(unit: Unit) -> list[Buffers]:
    types, result = uncurry(unit.term.type)
    inputs = zip(unit.inputs, types, strict=True)
    return [*inputs, ([buffer for group in unit.outputs for buffer in group], result)]


def _lower_unit(
    op: Operation, unit: Unit, loops: str, sizes: Sizes, checks: Checks, callees: Callees
) -> None:
    point = InsertPoint.before(op)
    types, result = uncurry(unit.term.type)
    inputs = [
        _insert_before(point, CastOp(buffers, type))
        for buffers, type in zip(unit.inputs, types, strict=True)
    ]
    outputs = [buffer for group in unit.outputs for buffer in group]
    target = _insert_before(point, CastOp(outputs, result))
    read = {buffer for group in unit.inputs for buffer in group}
    overlaps = not read.isdisjoint(outputs)
    lower_program(unit.term, inputs, target, point, loops, overlaps, sizes, checks, callees)
    op.detach()
    op.erase(safe_erase=False)


def _insert_before(point: InsertPoint, op: Operation) -> SSAValue:
    assert point.insert_before is not None
    point.block.insert_op_before(op, point.insert_before)
    return op.results[0]


def _erase_dead_ops(function: FuncOp) -> None:
    """Erase unused functional ops outside of lowering units."""
    for op in reversed(list(walk(function))):
        is_functional = op.name.startswith("rise.") and not op.name.startswith("rise.codegen.")
        unused = op.results and not any(True for result in op.results for _ in result.uses)
        if is_functional and unused and op.parent is not None:
            op.detach()
            op.erase()
