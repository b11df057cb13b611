"""A region as steps of one function: loops, with calls or structured ops for some parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from riselang.frontends.c.emit.blas_gemm import GemmEmitter
from riselang.frontends.c.emit.blas_routines import RoutineEmitter
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.row_calls import RowGemmEmitter
from riselang.frontends.c.emit.structured import StructuredEmitter, is_structured
from riselang.frontends.c.lift.choices import (
    ImplementationChoice,
    choose_for_product,
    choose_for_routine,
)
from riselang.frontends.c.lift.costs import LIBRARY_CALL
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import loop_ast
from riselang.frontends.c.tactics.blas_tactics import Routine, find_routine
from riselang.frontends.c.tactics.dependence_cycles import DependenceCycle, find_cycle_structures
from riselang.frontends.c.tactics.loop_fission import (
    RegionPart,
    dependence_cycles,
    merge_loop_parts,
    part_region,
    separate_parts,
)
from riselang.frontends.c.tactics.matrix_products import MatrixProduct
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.support.config import Options


def replace_by_calls(region: Scop, scop: Scop, options: Options, schedule: str) -> Any:
    """Replace the products that a library routine computes by calls of it.

    `scop` is the region transformed as the float permission allows.
    """
    chosen = {part.names: found for part, found in find_routine_parts(region, options)
              if found.choice.implementation is LIBRARY_CALL}  # fmt: skip
    if not chosen:
        return loop_ast(scop, schedule)
    parts = merge_loop_parts(separate_parts(region), lambda part: part.names in chosen)
    return tuple(
        _make_call_step(chosen[part.names].computation)
        if part.names in chosen
        else loop_ast(part_region(scop, part, number), schedule)
        for number, part in enumerate(parts)
    )


@dataclass(frozen=True)
class CalledRoutine:
    """A computation of a routine, and whether it is called."""

    computation: MatrixProduct | RowProduct | Routine
    choice: ImplementationChoice


def find_routine_parts(region: Scop, options: Options) -> list[tuple[RegionPart, CalledRoutine]]:
    """Return the parts of a region that routines compute."""
    if dependences(region) is None:
        return []
    found: list[tuple[RegionPart, CalledRoutine]] = []
    for part in separate_parts(region):
        what = part.product
        if isinstance(what, RowProduct):
            choice = choose_for_product(region, what.product, options)
        elif isinstance(what, MatrixProduct):
            choice = choose_for_product(region, what, options)
        else:
            routine = _find_routine(region, part)
            if routine is None:
                continue
            what, choice = routine, choose_for_routine(region, routine)
        found.append((part, CalledRoutine(what, choice)))
    return found


def _find_routine(region: Scop, part: RegionPart) -> Routine | None:
    return (
        find_routine(region, region.find_statement(part.names[0])) if len(part.names) == 1 else None
    )


def _make_call_step(what: MatrixProduct | RowProduct | Routine) -> Any:
    return lambda out: _emit_call(out, what)


def _emit_call(out: ExpressionEmitter, what: MatrixProduct | RowProduct | Routine) -> None:
    if isinstance(what, MatrixProduct):
        with out.at_location(what.target.access.location):
            GemmEmitter(out, what).emit()
    elif isinstance(what, RowProduct):
        with out.at_location(what.product.target.access.location):
            RowGemmEmitter(out, what).emit()
    else:
        with out.at_location(what.target.access.location):
            RoutineEmitter(out, what).emit()


def replace_by_structures(scop: Scop, schedule: str) -> Any:
    """Replace statements over boxes of elements by linalg ops."""
    circles = [tuple(circle) for circle in dependence_cycles(scop)]
    found = {circle: _find_structures(scop, circle) for circle in circles}
    parts = merge_loop_parts(
        [RegionPart(circle) for circle in circles],
        lambda part: part.names in found and found[part.names] is not None,
    )
    steps: list[Any] = []
    for number, part in enumerate(parts):
        circle = found.get(part.names)
        if circle is not None:
            steps.append(_make_structure_step(circle))
        else:
            steps.append(loop_ast(part_region(scop, part, number), schedule))
    return tuple(steps)


def _find_structures(scop: Scop, names: Sequence[str]) -> DependenceCycle | None:
    """Return statements that all become ops; None if one does not."""
    try:
        circle = find_cycle_structures(scop, names)
    except NotLifted:
        return None
    return circle if all(map(is_structured, circle.structures)) else None


def _make_structure_step(circle: DependenceCycle) -> Any:
    return lambda out: _emit_structures(out, circle, list(circle.around))


def _emit_structures(
    out: ExpressionEmitter, circle: DependenceCycle, around: Sequence[str]
) -> None:
    """Emit the ops of a dependence cycle, in the remaining loops."""
    if not around:
        for structure in circle.structures:
            StructuredEmitter(out, structure).emit()
        return
    range_ = circle.around[around[0]]
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = around[0]
    out.indices.others[around[0]] = block.args[0]
    with out.inside_block(block):
        _emit_structures(out, circle, around[1:])
        out.insert(scf.YieldOp())
    first, end = (
        out.indices.emit_linear(each) for each in (range_.first, range_.first + range_.length)
    )
    out.insert(scf.ForOp(first, end, out.indices.emit_constant(1), [], Region(block)))
    del out.indices.others[around[0]]
