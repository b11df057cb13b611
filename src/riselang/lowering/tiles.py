"""Transposes tiles of vectors with shuffles: from columns to rows, and from rows to columns.

If several vectors are adjacent columns of an array, with one lane in each row, whole rows are
stored instead of single lanes. If several vectors are the rows of a tile, its columns are merged
from them. All shuffles are such that one instruction computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, FixedBitwidthType, i64
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, Operation, SSAValue

SHUFFLE_BYTES = 16
"""The number of bytes within which a shuffle takes one instruction, for vectors of any length."""
INDEX_BYTES = 8
ELEMENT_SIZES = (4, 8)
"""The sizes in bytes of elements that are shuffled."""


class Inserter(Protocol):
    """An insertion point for ops."""

    def insert(self, op: Operation, /) -> Operation: ...


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


def transpose_columns(columns: Sequence[SSAValue], builder: Inserter) -> list[SSAValue]:
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


def _interleave(first: _TilePart, second: _TilePart, chunk: int, builder: Inserter) -> _TilePart:
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


def _concatenate(one: _TilePart, other: _TilePart, chunk: int, builder: Inserter) -> _TilePart:
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


def chunk_length(type: Attribute) -> int:
    """The number of elements of a vector within which a shuffle takes one instruction."""
    assert isinstance(type, BuiltinVectorType)
    element = type.element_type
    size = element.size if isinstance(element, FixedBitwidthType) else INDEX_BYTES
    return max(1, SHUFFLE_BYTES // size)


def extract_column(rows: Sequence[SSAValue], number: int, builder: Inserter) -> SSAValue:
    """Return column `number` of a tile that has as many rows as the column has lanes.

    The tile is a square, or its rows are chunks. Pairs of vectors are merged, then pairs of the
    results, and so on. All columns of a tile share the first merges, so each column takes a
    logarithmic number of shuffles on average. See Note [Columns of a tile].
    """
    (width,) = _vector_shape(rows[0])
    length, chunk = len(rows), chunk_length(rows[0].type)
    chunk = min(length, chunk)
    inner_bits = chunk.bit_length() - 1
    vectors = dict(enumerate(rows))
    if width < length:
        vectors = {row: _join_rows(rows[row::width], builder) for row in range(width)}
    outer_bits = range(inner_bits, width.bit_length() - 1)
    for bit in (*outer_bits, *reversed(range(inner_bits))):
        half = number >> bit & 1
        mask = (
            _interleaved_halves(length, chunk, half)
            if bit < inner_bits
            else _chunks_of_parity(length, chunk, half)
        )
        vectors = {
            position: _shuffle(vector, vectors[position | 1 << bit], mask, builder)
            for position, vector in vectors.items()
            if not position >> bit & 1
        }
    return vectors[0]


def _join_rows(rows: Sequence[SSAValue], builder: Inserter) -> SSAValue:
    """Concatenate rows to one vector."""
    while len(rows) > 1:
        mask = range(2 * _vector_shape(rows[0])[0])
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [_shuffle(*pair, mask, builder) for pair in pairs]
    return rows[0]


def _interleaved_halves(length: int, chunk: int, half: int) -> list[int]:
    """In each chunk, the elements of one half of it, alternating between both vectors."""
    return [
        base + half * chunk // 2 + position + vector
        for base in range(0, length, chunk)
        for position in range(chunk // 2)
        for vector in (0, length)
    ]


def _chunks_of_parity(length: int, chunk: int, parity: int) -> list[int]:
    """The chunks with even or odd numbers, first those of one vector, then those of the other."""
    return [
        vector + base + position
        for vector in (0, length)
        for base in range(parity * chunk, length, 2 * chunk)
        for position in range(chunk)
    ]


def _vector_shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, BuiltinVectorType)
    return value.type.get_shape()


def _shuffle(first: SSAValue, second: SSAValue, mask: Sequence[int], builder: Inserter) -> SSAValue:
    assert isinstance(first.type, BuiltinVectorType)
    order = DenseArrayBase.from_list(i64, mask)
    type = BuiltinVectorType(first.type.element_type, [len(mask)])
    return builder.insert(vector.ShuffleOp(first, second, order, result_type=type)).results[0]


# Note [Columns of a tile]
#
# An element is addressed by the bits of its vector's number and the bits of its lane. A shuffle of
# two vectors whose numbers differ in bit k of the number rotates bits: interleaving halves of
# chunks moves bit k of the number to the lowest bit of the lane, shifts the other bits of the
# position in a chunk, and moves the highest of these to bit k of the number. Selecting chunks of
# one parity does the same with the bits of the chunk's number, from the highest to the lowest.
# After one shuffle for each bit of the number, in the order of `extract_column`, the bits of the
# number and of the lane are swapped: vector k is column k. Chunks are selected first, directly from
# loaded rows; afterwards, LLVM would compute some interleaved chunks twice. If the rows are chunks,
# every vector consists of rows whose numbers differ by a multiple of the chunk's length, so that
# only the bits of the position in a chunk remain to be swapped.
