"""Strides of accesses along a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement
from riselang.frontends.c.parse.syntax import Access
from riselang.frontends.c.schedule.rows import row_direction


class Stride(Enum):
    """Which element the next iteration accesses."""

    STAYS = "the same element"
    NEXT = "the next element in memory"
    BACK = "the previous element in memory"
    FAR = "elsewhere"


def access_strides(
    statement: ModelStatement, rows: Sequence[Linear], at: int
) -> dict[Access, Stride] | None:
    """Return the stride of each access of a statement along one of its rows."""
    moved = row_direction(rows, at, statement)
    if moved is None:
        return None
    return {
        access: _classify_stride(subscript.indices, moved)
        for access, subscript in statement.access_relations.items()
    }


def _classify_stride(indices: tuple[Linear, ...] | None, moved: Mapping[str, int]) -> Stride:
    if indices is None:
        return Stride.FAR
    steps = [_index_step(index, moved) for index in indices]
    if all(step == 0 for step in steps):
        return Stride.STAYS
    if steps[-1] in (1, -1) and all(step == 0 for step in steps[:-1]):
        return Stride.NEXT if steps[-1] == 1 else Stride.BACK
    return Stride.FAR


def _index_step(index: Linear, moved: Mapping[str, int]) -> int | None:
    total = 0
    for atom, factor in index.terms:
        if isinstance(atom, str):
            total += factor * moved.get(atom, 0)
        elif any(moved.get(name, 0) for name in atom.dividend.names()):
            return None
    return total
