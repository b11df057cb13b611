"""The source order as an isl schedule tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement


@dataclass(frozen=True)
class LeafNode:
    """A statement, by its name."""

    statement: str


@dataclass(frozen=True)
class SequenceNode:
    """A sequence of subtrees."""

    children: tuple[SourceTree, ...]


@dataclass(frozen=True)
class LoopNode:
    """A loop: upward, or downward if the direction is -1."""

    iterator: str
    direction: int
    body: SourceTree


SourceTree = LeafNode | SequenceNode | LoopNode


def build_source_schedule(
    tree: SourceTree, statements: Mapping[str, ModelStatement], prefix: str
) -> Any:
    """Build isl's schedule tree; None if there is nothing to do."""
    match tree:
        case LeafNode():
            statement = statements[tree.statement]
            if statement.domain.is_empty():
                return None
            return isl().Schedule.from_domain(isl().UnionSet.from_set(statement.domain))
        case SequenceNode():
            whole = None
            for child in tree.children:
                part = build_source_schedule(child, statements, prefix)
                if part is not None:
                    whole = part if whole is None else whole.sequence(part)
            return whole
        case LoopNode():
            body = build_source_schedule(tree.body, statements, prefix)
            if body is None:
                return None
            return body.insert_partial_schedule(_add_band(tree, body, statements, prefix))


def _add_band(
    loop: LoopNode, body: Any, statements: Mapping[str, ModelStatement], prefix: str
) -> Any:
    """Build a band that schedules each statement in the loop by the loop variable."""
    sign = "" if loop.direction > 0 else "-"
    parts: list[str] = []

    def add(domain: Any) -> None:
        statement = statements[domain.get_tuple_name()]
        names = [name for _, name in statement.iterators]
        parts.append(f"{statement.name}[{', '.join(names)}] -> [({sign}{loop.iterator})]")

    body.get_domain().foreach_set(add)
    return isl().MultiUnionPwAff(f"{prefix}[{{ {'; '.join(sorted(parts))} }}]")
