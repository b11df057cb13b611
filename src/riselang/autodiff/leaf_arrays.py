"""The scalars of a value as separate arrays, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.autodiff.building import Builder
from riselang.dialects.rise.types import ArrayType, RiseType, TupleType
from riselang.term.build import Node


def split_leaves(builder: Builder, value: Node) -> list[Node]:
    """Return an array for each scalar that the elements of a value consist of."""
    return _split(builder, value, value.type, 0)


def _split(builder: Builder, value: Node, type: RiseType, depth: int) -> list[Node]:
    """Split nested arrays, whose elements at `depth` have this type."""
    if isinstance(type, ArrayType):
        return _split(builder, value, type.element, depth + 1)
    if not isinstance(type, TupleType):
        return [value]
    parts = [
        builder.map_at(depth, builder.first, value),
        builder.map_at(depth, builder.second, value),
    ]
    return [
        *_split(builder, parts[0], type.first, depth),
        *_split(builder, parts[1], type.second, depth),
    ]


def join_leaves(builder: Builder, type: RiseType, arrays: Sequence[Node]) -> Node:
    """Return a value of a type, given an array for each of its scalars."""
    return _join(builder, type, 0, iter(arrays))


def _join(builder: Builder, type: RiseType, depth: int, arrays: Iterator[Node]) -> Node:
    if isinstance(type, ArrayType):
        return _join(builder, type.element, depth + 1, arrays)
    if not isinstance(type, TupleType):
        return next(arrays)
    first = _join(builder, type.first, depth, arrays)
    second = _join(builder, type.second, depth, arrays)
    return _pair_at(builder, depth, first, second)


def _pair_at(builder: Builder, depth: int, first: Node, second: Node) -> Node:
    if depth == 0:
        return builder.pair(first, second)
    pairs = builder.zip_all([first, second])
    if depth == 1:
        return pairs
    return builder.map(
        lambda both: _pair_at(builder, depth - 1, builder.first(both), builder.second(both)), pairs
    )
