"""Vectors as the columns of a tile: its rows, by shuffles.

Where the lanes of several vectors lie in different rows of an array, and the vectors one behind the
other in each row, rows are stored at once instead of each lane on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, FixedBitwidthType, i64
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, SSAValue

CHUNK = 16
"""Bytes within which a shuffle of vectors of any length takes one instruction."""
ELEMENT_SIZES = (4, 8)
"""Bytes of the elements that are shuffled."""


def tile_height(type: Attribute, count: int) -> int:
    """How many of so many vectors are the columns of one tile: two chunks or more, else 1."""
    assert isinstance(type, BuiltinVectorType)
    (lanes,), element = type.get_shape(), type.element_type
    if not isinstance(element, FixedBitwidthType) or element.size not in ELEMENT_SIZES:
        return 1
    height = min(lanes, 1 << (count.bit_length() - 1))
    is_whole = lanes.bit_count() == 1 and height >= 2 * CHUNK // element.size
    return height if is_whole else 1


@dataclass(frozen=True)
class _Part:
    """Rows of some columns: `width` elements of each lane, which stand in one of the vectors."""

    vectors: Sequence[SSAValue]
    width: int
    places: Sequence[tuple[int, int]]
    """For each lane the vector, and the position in it."""


def rows_of(columns: Sequence[SSAValue], builder: Builder) -> list[SSAValue]:
    """The rows of a tile, one for each lane; its columns are as many as `tile_height` says."""
    type = columns[0].type
    assert isinstance(type, BuiltinVectorType)
    assert isinstance(type.element_type, FixedBitwidthType)
    (lanes,) = type.get_shape()
    chunk = CHUNK // type.element_type.size
    parts = [_Part([each], 1, [(0, lane) for lane in range(lanes)]) for each in columns]
    while len(parts) > 1:
        merge = _interleaved if parts[0].width < chunk else _joined
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [merge(one, other, chunk, builder) for one, other in pairs]
    (whole,) = parts
    return list(whole.vectors)


def _interleaved(one: _Part, other: _Part, chunk: int, builder: Builder) -> _Part:
    """Pieces of both in turns, each half of a chunk in a vector of its own."""
    width, vectors = one.width, list[SSAValue]()
    (length,) = _shape(one.vectors[0])
    halves = [
        [(base + start, piece) for base in range(0, length, chunk) for start in starts
         for piece in (0, length)]
        for starts in (range(0, chunk // 2, width), range(chunk // 2, chunk, width))
    ]  # fmt: skip
    for pair in zip(one.vectors, other.vectors, strict=True):
        for half in halves:
            mask = [at + piece + step for at, piece in half for step in range(width)]
            vectors.append(_shuffled(*pair, mask, builder))
    places = [
        (2 * number + at % chunk // (chunk // 2), at - at % chunk + at % (chunk // 2) * 2)
        for number, at in one.places
    ]
    return _Part(vectors, 2 * width, places)


def _joined(one: _Part, other: _Part, chunk: int, builder: Builder) -> _Part:
    """A vector for each lane, of what both have of it."""
    vectors: list[SSAValue] = []
    for number, at in one.places:
        first, second = one.vectors[number], other.vectors[number]
        (length,) = _shape(first)
        mask = [start + step for start in (at, length + at) for step in range(one.width)]
        vectors.append(_shuffled(first, second, mask, builder))
    return _Part(vectors, 2 * one.width, [(lane, 0) for lane in range(len(vectors))])


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, BuiltinVectorType)
    return value.type.get_shape()


def _shuffled(first: SSAValue, second: SSAValue, mask: Sequence[int], builder: Builder) -> SSAValue:
    assert isinstance(first.type, BuiltinVectorType)
    order = DenseArrayBase.from_list(i64, mask)
    type = BuiltinVectorType(first.type.element_type, [len(mask)])
    return builder.insert(vector.ShuffleOp(first, second, order, result_type=type)).results[0]
