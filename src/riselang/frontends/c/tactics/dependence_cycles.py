"""Dependence cycles of statements: structures, with the remaining loops around them.

In each iteration of those loops the statements run in sequence, each as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.dependence_queries import strongly_connected_components
from riselang.frontends.c.tactics.boxes import (
    LoopRange,
    NotLifted,
    check_runs_always,
    outer_ranges,
)
from riselang.frontends.c.tactics.loop_distribution import count_remaining_loops, edges_inside_loops
from riselang.frontends.c.tactics.structures import Structure, read_structure


@dataclass(frozen=True)
class DependenceCycle:
    """The remaining loops, outermost first, and the structures that run in each iteration."""

    outer_loops: Mapping[str, LoopRange]
    structures: tuple[Structure, ...]


def find_cycle_structures(scop: Scop, names: Sequence[str]) -> DependenceCycle:
    """Return the structures of a dependence cycle, or of one statement; raises NotLifted with the
    reason."""
    statements = [scop.find_statement(name) for name in names]
    outer_loops = _remaining_loops(scop, statements)
    outer_loop_ranges = outer_ranges(scop, statements[0], len(outer_loops))
    if outer_loops and any(
        outer_ranges(scop, each, len(outer_loops)) != outer_loop_ranges for each in statements
    ):
        raise NotLifted("the sequential loops are not the same for all statements")
    if outer_loops and not _is_upward(scop, names, len(outer_loops)):
        raise NotLifted("the sequential loops run downward")
    order = _topological_order(scop, statements, len(outer_loops))
    structures = tuple(read_structure(scop, each, outer_loops) for each in order)
    for each in structures:
        check_runs_always(scop, each.statement, {**outer_loop_ranges, **each.ranges})
    return DependenceCycle(outer_loop_ranges, structures)


def _remaining_loops(scop: Scop, statements: Sequence[ModelStatement]) -> tuple[str, ...]:
    """Return the remaining loops: those that one of the statements needs around it."""
    depth = max(count_remaining_loops(scop, each) for each in statements)
    loop_nests = {tuple(name for _, name in each.iterators[:depth]) for each in statements}
    if len(loop_nests) > 1 or any(len(each.iterators) <= depth for each in statements):
        raise NotLifted("the sequential loops do not enclose all statements")
    return loop_nests.pop()


def _is_upward(scop: Scop, names: Sequence[str], count: int) -> bool:
    """Whether all dependences are satisfied in increasing order of the outer loop variables."""
    pairs = dependences(scop)
    upward: list[bool] = []
    dims = isl().dim_type

    def check_pair(pair: Any) -> None:
        if pair.get_tuple_name(dims.in_) in names and pair.get_tuple_name(dims.out) in names:
            outer = pair.project_out(dims.in_, count, pair.dim(dims.in_) - count)
            outer = outer.project_out(dims.out, count, outer.dim(dims.out) - count)
            outer = outer.reset_tuple_id(dims.in_).reset_tuple_id(dims.out)
            upward.append(bool(outer.is_subset(isl().Map.lex_le(outer.get_space().domain()))))

    if pairs is not None:
        pairs.all.foreach_map(check_pair)
    return pairs is not None and all(upward)


def _topological_order(
    scop: Scop, statements: Sequence[ModelStatement], depth: int
) -> list[ModelStatement]:
    """Return the statements in topological order of the dependences in one iteration."""
    names = [each.name for each in statements]
    edges = edges_inside_loops(scop, statements[0], depth)
    return [
        scop.find_statement(name)
        for group in strongly_connected_components(names, edges)
        for name in group
    ]
