"""The steps of a region's function: loop nests, library calls and structured ops.

A step is the loop AST of some of the region's statements, or a function that emits other code for
them. The steps of a function run in sequence.
"""

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
from riselang.frontends.c.tactics.boxes import NotLifted
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
from riselang.support.config import Options

Computation = MatrixProduct | RowProduct | Routine
Step = Any
"""A loop AST of isl, or a function that emits code with an `ExpressionEmitter`."""


def steps_with_calls(region: Scop, contracted: Scop, options: Options, schedule: str) -> Any:
    """Return the loops of a region, with library calls for the parts for which they are profitable.

    `contracted` is the region after the contractions that the float permission allows; loops are
    generated from it. The result is a loop AST if there are no calls, else a tuple of steps.
    """
    calls = {part.names: candidate.computation
             for part, candidate in find_routine_parts(region, options)
             if candidate.choice.implementation is LIBRARY_CALL}  # fmt: skip
    if not calls:
        return loop_ast(contracted, schedule)
    parts = merge_loop_parts(separate_parts(region), lambda part: part.names in calls)
    return tuple(
        _make_call_step(calls[part.names])
        if part.names in calls
        else loop_ast(part_region(contracted, part, number), schedule)
        for number, part in enumerate(parts)
    )


@dataclass(frozen=True)
class RoutineCandidate:
    """A computation that a library routine performs, and the implementation chosen for it."""

    computation: Computation
    choice: ImplementationChoice


def find_routine_parts(region: Scop, options: Options) -> list[tuple[RegionPart, RoutineCandidate]]:
    """Return the parts of a region that library routines can compute."""
    if dependences(region) is None:
        return []
    candidates: list[tuple[RegionPart, RoutineCandidate]] = []
    for part in separate_parts(region):
        computation = part.product
        if isinstance(computation, RowProduct):
            choice = choose_for_product(region, computation.blocks, options)
        elif isinstance(computation, MatrixProduct):
            choice = choose_for_product(region, computation, options)
        else:
            computation = _routine_of_part(region, part)
            if computation is None:
                continue
            choice = choose_for_routine(region, computation)
        candidates.append((part, RoutineCandidate(computation, choice)))
    return candidates


def _routine_of_part(region: Scop, part: RegionPart) -> Routine | None:
    if len(part.names) != 1:
        return None
    return find_routine(region, region.find_statement(part.names[0]))


def _make_call_step(computation: Computation) -> Step:
    return lambda emitter: _emit_call(emitter, computation)


def _emit_call(emitter: ExpressionEmitter, computation: Computation) -> None:
    if isinstance(computation, MatrixProduct):
        with emitter.at_location(computation.target.access.location):
            GemmEmitter(emitter, computation).emit()
    elif isinstance(computation, RowProduct):
        with emitter.at_location(computation.product.target.access.location):
            RowGemmEmitter(emitter, computation).emit()
    else:
        with emitter.at_location(computation.target.access.location):
            RoutineEmitter(emitter, computation).emit()


def steps_with_structured_ops(scop: Scop, schedule: str) -> tuple[Step, ...]:
    """Return the loops of a region, with linalg ops for statements that iterate over a box."""
    components = [tuple(names) for names in dependence_cycles(scop)]
    cycles = {names: _find_structures(scop, names) for names in components}
    parts = merge_loop_parts(
        [RegionPart(names) for names in components],
        lambda part: cycles.get(part.names) is not None,
    )
    steps: list[Step] = []
    for number, part in enumerate(parts):
        cycle = cycles.get(part.names)
        if cycle is not None:
            steps.append(_make_structure_step(cycle))
        else:
            steps.append(loop_ast(part_region(scop, part, number), schedule))
    return tuple(steps)


def _find_structures(scop: Scop, names: Sequence[str]) -> DependenceCycle | None:
    """Return the dependence cycle if all its statements become structured ops, else None."""
    try:
        cycle = find_cycle_structures(scop, names)
    except NotLifted:
        return None
    return cycle if all(map(is_structured, cycle.structures)) else None


def _make_structure_step(cycle: DependenceCycle) -> Step:
    return lambda emitter: _emit_structures(emitter, cycle, list(cycle.outer_loops))


def _emit_structures(
    emitter: ExpressionEmitter, cycle: DependenceCycle, outer_loops: Sequence[str]
) -> None:
    """Emit the ops of a dependence cycle inside the given loops around it."""
    if not outer_loops:
        for structure in cycle.structures:
            StructuredEmitter(emitter, structure).emit()
        return
    loop, *inner_loops = outer_loops
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = loop
    emitter.indices.non_affine_values[loop] = block.args[0]
    with emitter.inside_block(block):
        _emit_structures(emitter, cycle, inner_loops)
        emitter.insert(scf.YieldOp())
    loop_range = cycle.outer_loops[loop]
    first = emitter.indices.emit_linear(loop_range.first)
    end = emitter.indices.emit_linear(loop_range.first + loop_range.length)
    emitter.insert(scf.ForOp(first, end, emitter.indices.emit_constant(1), [], Region(block)))
    del emitter.indices.non_affine_values[loop]
