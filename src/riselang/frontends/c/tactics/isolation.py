"""Which loops around a statement must stay: those that carry dependences to other statements.

Inside of the loops that stay, the statement can run alone, before or after all others: loops may be
distributed so.
"""

from __future__ import annotations

from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop


def loops_around(scop: Scop, statement: ModelStatement) -> int:
    """How many of the outer loops stay."""
    for depth in range(len(statement.iterators) + 1):
        if not _is_tied(scop, statement, depth):
            return depth
    return len(statement.iterators)


def _is_tied(scop: Scop, statement: ModelStatement, depth: int) -> bool:
    """Whether dependences lead from the statement to others and back, inside of `depth` loops."""
    edges = edges_inside(scop, statement, depth)
    after = _reached(statement.name, edges)
    before = _reached(statement.name, {(target, source) for source, target in edges})
    return bool((after & before) - {statement.name})


def _reached(start: str, edges: set[tuple[str, str]]) -> set[str]:
    """What edges lead to from a statement, in one step or more."""
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


def edges_inside(scop: Scop, statement: ModelStatement, depth: int) -> set[tuple[str, str]]:
    """Pairs of statements with a dependence in the same iteration of the outer loops."""
    names = [name for _, name in statement.iterators[:depth]]
    found: set[tuple[str, str]] = set()
    dims = isl().dim_type

    def add(pair: Any) -> None:
        source = scop.statement(pair.get_tuple_name(dims.in_))
        target = scop.statement(pair.get_tuple_name(dims.out))
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
