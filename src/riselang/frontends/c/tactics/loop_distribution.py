"""The loops that must remain around a statement: those that carry dependence cycles with others.

Inside the remaining loops, loop distribution lets the statement run alone, before or after all
others.
"""

from __future__ import annotations

from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop


def count_remaining_loops(scop: Scop, statement: ModelStatement) -> int:
    """Return the number of outer loops that remain."""
    for depth in range(len(statement.iterators) + 1):
        if not _is_in_cycle(scop, statement, depth):
            return depth
    return len(statement.iterators)


def _is_in_cycle(scop: Scop, statement: ModelStatement, depth: int) -> bool:
    """Whether a dependence cycle contains the statement and others, inside `depth` loops."""
    edges = edges_inside_loops(scop, statement, depth)
    after = _reachable_statements(statement.name, edges)
    before = _reachable_statements(statement.name, {(target, source) for source, target in edges})
    return bool((after & before) - {statement.name})


def _reachable_statements(start: str, edges: set[tuple[str, str]]) -> set[str]:
    """Return the statements reachable from a statement, in one step or more."""
    targets: dict[str, list[str]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    reached, stack = set[str](), [start]
    while stack:
        for target in targets.get(stack.pop(), ()):
            if target not in reached:
                reached.add(target)
                stack.append(target)
    return reached


def edges_inside_loops(scop: Scop, statement: ModelStatement, depth: int) -> set[tuple[str, str]]:
    """Return pairs of statements with a dependence in the same iteration of the outer loops."""
    names = [name for _, name in statement.iterators[:depth]]
    found: set[tuple[str, str]] = set()
    dims = isl().dim_type

    def add(pair: Any) -> None:
        source = scop.find_statement(pair.get_tuple_name(dims.in_))
        target = scop.find_statement(pair.get_tuple_name(dims.out))
        for each in (source, target):
            if [name for _, name in each.iterators[:depth]] != names:
                return
        for position in range(depth):
            pair = pair.equate(dims.in_, position, dims.out, position)
        if not pair.is_empty():
            found.add((source.name, target.name))

    pairs = dependences(scop)
    assert pairs is not None
    pairs.all.foreach_map(add)
    return found
