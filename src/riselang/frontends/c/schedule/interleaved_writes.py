"""Statements that write the elements of an array alternately, as an unrolled loop does:

    for (i = 0; i < n; i += 2) { a[i] = ...;  a[i + 1] = ...; }

In separate loops, each would access only a part of every cache line and vector. They keep their
common loops, in which LLVM makes vectors of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.dependence_queries import (
    dependence_edges,
    preserves_dependences,
    simultaneous_dependences,
)
from riselang.frontends.c.schedule.plan import Plan, PlanSequence, SharedLoops, StatementLoops
from riselang.frontends.c.schedule.rows import ScheduledNest


def group_nests(
    scop: Scop, nests: Sequence[ScheduledNest], pairs: Any
) -> list[list[ScheduledNest]]:
    """Group the nests whose statements write elements alternately; each group takes the position of
    its first nest."""
    edges = dependence_edges(pairs)
    groups: list[list[ScheduledNest]] = []
    for nest in nests:
        position = next(
            (at for at, group in enumerate(groups) if _write_alternately(scop, [*group, nest])),
            None,
        )
        if position is not None and not any(
            (a, b) in edges or (b, a) in edges
            for later in groups[position + 1 :]
            for a in _names(later)
            for b in _names([*groups[position], nest])
        ):
            groups[position].append(nest)
        else:
            groups.append([nest])
    return groups


def _names(nests: Sequence[ScheduledNest]) -> list[str]:
    return [name for nest in nests for name in nest.rows]


def _write_alternately(scop: Scop, nests: Sequence[ScheduledNest]) -> bool:
    """Whether nests of one statement each have the same loops, and write the same array with the
    same distance between elements."""
    names = _names(nests)
    statements = [scop.find_statement(name) for name in names]
    written = [_written_elements(each) for each in statements]
    return (
        len(names) == len(nests)
        and len({each.iterators for each in statements}) == 1
        and None not in written
        and len(set(written)) == 1
    )


def _written_elements(statement: ModelStatement) -> tuple[str, int] | None:
    """Return the array that a statement writes, and the distance between elements; None if this is
    one, or not constant."""
    if len(statement.writes) != 1 or not statement.iterators:
        return None
    (access,) = statement.writes
    found = statement.access_relations[access]
    elements = found.relation.range()
    rank = elements.dim(isl().dim_type.set)
    if found.indices is None or rank == 0:
        return None
    distance = elements.get_stride(rank - 1).to_python()
    return (elements.get_tuple_name(), distance) if distance > 1 else None


def plan_together(scop: Scop, nests: Sequence[ScheduledNest], pairs: Any) -> Plan | None:
    """Return the plan of statements in their loops in source order; None if it is invalid."""
    known = {name for nest in nests for name in nest.rows}
    names = [each.name for each in scop.statements if each.name in known]
    statements = {name: scop.find_statement(name) for name in names}
    rows = {
        name: tuple(Linear.of(iterator) for _, iterator in each.iterators)
        for name, each in statements.items()
    }
    if not preserves_dependences(scop, pairs, rows, strictly=False):
        return None
    edges = dependence_edges(simultaneous_dependences(scop, pairs, rows))
    if any(names.index(source) > names.index(target) for source, target in edges):
        return None
    body = PlanSequence(
        tuple(StatementLoops(name, each.domain) for name, each in statements.items())
    )
    depth = len(statements[names[0]].iterators)
    return SharedLoops(
        tuple({name: rows[name][position] for name in names} for position in range(depth)), body
    )
