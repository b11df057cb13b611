"""Transposes tiles of vectors with shuffles: from columns to rows.

If several vectors are adjacent columns of an array, with one lane in each row, whole rows are
stored instead of single lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, FixedBitwidthType, i64
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, SSAValue

SHUFFLE_BYTES = 16
"""The number of bytes within which a shuffle takes one instruction, for vectors of any length."""
ELEMENT_SIZES = (4, 8)
"""The sizes in bytes of elements that are shuffled."""


def tile_height(type: Attribute, count: int) -> int:
    """Return how many of `count` vectors form the columns of a tile: two chunks or more, or 1."""
    assert isinstance(type, BuiltinVectorType)
    (lanes,), element = type.get_shape(), type.element_type
    if not isinstance(element, FixedBitwidthType) or element.size not in ELEMENT_SIZES:
        return 1
    height = min(lanes, 1 << (count.bit_length() - 1))
    is_whole = lanes.bit_count() == 1 and height >= 2 * SHUFFLE_BYTES // element.size
    return height if is_whole else 1


@dataclass(frozen=True)
class _TilePart:
    """Parts of rows: `width` elements of each row, contiguous in one of the vectors."""

    vectors: Sequence[SSAValue]
    width: int
    row_positions: Sequence[tuple[int, int]]
    """For each row, the number of the vector and the position in it."""


def transpose_columns(columns: Sequence[SSAValue], builder: Builder) -> list[SSAValue]:
    """Return the rows of a tile, one for each lane, from as many columns as `tile_height` says."""
    type = columns[0].type
    assert isinstance(type, BuiltinVectorType)
    assert isinstance(type.element_type, FixedBitwidthType)
    (lanes,) = type.get_shape()
    chunk = SHUFFLE_BYTES // type.element_type.size
    parts = [_TilePart([each], 1, [(0, lane) for lane in range(lanes)]) for each in columns]
    while len(parts) > 1:
        merge = _interleave if parts[0].width < chunk else _concatenate
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [merge(first, second, chunk, builder) for first, second in pairs]
    (tile,) = parts
    return list(tile.vectors)


def _interleave(first: _TilePart, second: _TilePart, chunk: int, builder: Builder) -> _TilePart:
    """Interleave pieces of both, with each half of a chunk in a separate vector."""
    width, vectors = first.width, list[SSAValue]()
    (length,) = _vector_shape(first.vectors[0])
    halves = [
        [(base + start, piece) for base in range(0, length, chunk) for start in starts
         for piece in (0, length)]
        for starts in (range(0, chunk // 2, width), range(chunk // 2, chunk, width))
    ]  # fmt: skip
    for pair in zip(first.vectors, second.vectors, strict=True):
        for half in halves:
            mask = [position + piece + step for position, piece in half for step in range(width)]
            vectors.append(_shuffle(*pair, mask, builder))
    row_positions = [
        (
            2 * number + position % chunk // (chunk // 2),
            position - position % chunk + position % (chunk // 2) * 2,
        )
        for number, position in first.row_positions
    ]
    return _TilePart(vectors, 2 * width, row_positions)


def _concatenate(one: _TilePart, other: _TilePart, chunk: int, builder: Builder) -> _TilePart:
    """Concatenate the pieces of both, with one vector for each lane."""
    vectors: list[SSAValue] = []
    for number, position in one.row_positions:
        first, second = one.vectors[number], other.vectors[number]
        (length,) = _vector_shape(first)
        mask = [
            start + step for start in (position, length + position) for step in range(one.width)
        ]
        vectors.append(_shuffle(first, second, mask, builder))
    return _TilePart(vectors, 2 * one.width, [(lane, 0) for lane in range(len(vectors))])


def _vector_shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, BuiltinVectorType)
    return value.type.get_shape()


def _shuffle(first: SSAValue, second: SSAValue, mask: Sequence[int], builder: Builder) -> SSAValue:
    assert isinstance(first.type, BuiltinVectorType)
    order = DenseArrayBase.from_list(i64, mask)
    type = BuiltinVectorType(first.type.element_type, [len(mask)])
    return builder.insert(vector.ShuffleOp(first, second, order, result_type=type)).results[0]
