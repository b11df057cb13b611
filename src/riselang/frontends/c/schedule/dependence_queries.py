"""Queries about dependences under a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop

ScheduleVectors = Mapping[str, Sequence[Linear]]
"""For each statement its schedule vector (point in time); all have the same length."""


def schedule_map(scop: Scop, times: ScheduleVectors) -> Any:
    """Return the schedule vectors as an isl relation."""
    parts: list[str] = []
    for name, rows in times.items():
        iterators = ", ".join(iterator for _, iterator in scop.find_statement(name).iterators)
        point = ", ".join(f"({row})" for row in rows)
        parts.append(f"{name}[{iterators}] -> [{point}]")
    return isl().UnionMap(f"{scop.prefix}{{ {'; '.join(parts)} }}")


def simultaneous_dependences(scop: Scop, pairs: Any, times: ScheduleVectors) -> Any:
    """Return the dependences between instances with equal schedule vectors."""
    when = schedule_map(scop, times)
    return pairs.intersect(when.apply_range(when.reverse()))


def preserves_dependences(
    scop: Scop, pairs: Any, times: ScheduleVectors, *, strictly: bool
) -> bool:
    """Whether no instance runs before one that it depends on; if `strictly`, nor at the same
    time."""
    when = schedule_map(scop, times)
    scheduled_pairs = pairs.apply_domain(when).apply_range(when)
    if scheduled_pairs.is_empty():
        return True
    pair_map = isl().Map.from_union_map(scheduled_pairs)
    space = pair_map.get_space().domain()
    later = isl().Map.lex_lt(space) if strictly else isl().Map.lex_le(space)
    return bool(pair_map.is_subset(later))


def is_parallel(scop: Scop, pairs: Any, times: ScheduleVectors) -> bool:
    """Whether the last dimension carries no dependence of instances that agree in all others."""
    outer = simultaneous_dependences(scop, pairs, {name: rows[:-1] for name, rows in times.items()})
    return bool(outer.is_subset(simultaneous_dependences(scop, outer, times)))


def dependence_edges(pairs: Any) -> set[tuple[str, str]]:
    """Return the edges of the dependence graph of statements."""
    edges: set[tuple[str, str]] = set()
    dims = isl().dim_type

    def add(pair: Any) -> None:
        source, target = pair.get_tuple_name(dims.in_), pair.get_tuple_name(dims.out)
        if source != target and not pair.is_empty():
            edges.add((source, target))

    pairs.foreach_map(add)
    return edges


def strongly_connected_components(
    names: Sequence[str], edges: set[tuple[str, str]]
) -> list[list[str]]:
    """Return the strongly connected components of the dependence graph, in topological order."""
    reached = {name: {name} for name in names}
    changed = True
    while changed:
        changed = False
        for source, target in edges:
            if source in reached and target in reached:
                new_targets = reached[target] - reached[source]
                reached[source] |= new_targets
                changed = changed or bool(new_targets)
    remaining = list(names)
    ordered: list[list[str]] = []
    while remaining:
        first = next(
            name for name in remaining
            if all(other in reached[name] or name not in reached[other] for other in remaining)
        )  # fmt: skip
        component = [
            name for name in remaining if name in reached[first] and first in reached[name]
        ]
        ordered.append(component)
        remaining = [name for name in remaining if name not in component]
    return ordered
