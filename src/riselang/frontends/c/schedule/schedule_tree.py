"""The source order as an isl schedule tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement


@dataclass(frozen=True)
class Leaf:
    """A statement, by its name."""

    statement: str


@dataclass(frozen=True)
class Steps:
    """A sequence of subtrees."""

    children: tuple[Tree, ...]


@dataclass(frozen=True)
class Loop:
    """A loop: upward, or downward if the direction is -1."""

    iterator: str
    direction: int
    body: Tree


Tree = Leaf | Steps | Loop


def schedule_of(tree: Tree, statements: Mapping[str, ModelStatement], prefix: str) -> Any:
    """Build isl's schedule tree; None if there is nothing to do."""
    match tree:
        case Leaf():
            statement = statements[tree.statement]
            if statement.domain.is_empty():
                return None
            return isl().Schedule.from_domain(isl().UnionSet.from_set(statement.domain))
        case Steps():
            whole = None
            for child in tree.children:
                part = schedule_of(child, statements, prefix)
                if part is not None:
                    whole = part if whole is None else whole.sequence(part)
            return whole
        case Loop():
            body = schedule_of(tree.body, statements, prefix)
            if body is None:
                return None
            return body.insert_partial_schedule(_band(tree, body, statements, prefix))


def _band(loop: Loop, body: Any, statements: Mapping[str, ModelStatement], prefix: str) -> Any:
    """Build a band that schedules each statement in the loop by the loop variable."""
    sign = "" if loop.direction > 0 else "-"
    parts: list[str] = []

    def add(domain: Any) -> None:
        statement = statements[domain.get_tuple_name()]
        names = [name for _, name in statement.iterators]
        parts.append(f"{statement.name}[{', '.join(names)}] -> [({sign}{loop.iterator})]")

    body.get_domain().foreach_set(add)
    return isl().MultiUnionPwAff(f"{prefix}[{{ {'; '.join(sorted(parts))} }}]")
