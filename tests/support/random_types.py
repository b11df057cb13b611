"""Random data types, small enough that programs over them stay fast."""

from __future__ import annotations

from collections.abc import Callable

from riselang.dialects.rise.attributes import MAX_LITERAL_ELEMENTS
from riselang.dialects.rise.types import (
    SCALARS,
    ArrayType,
    RiseType,
    ScalarType,
    array,
    element_of,
    idx,
    innermost,
    leaves,
    pair,
    vector,
)
from support.choices import Choices

LENGTHS = (2, 3, 1, 0, 4, 5, 6, 7, 8, 11, 13)
MAXIMUM_RANK = 4


def volume(type: RiseType) -> int:
    """How many scalars a value of `type` has."""
    total = 0
    for lengths, _ in leaves(type):
        count = 1
        for length in lengths:
            count *= length.constant
        total += count
    return total


def has_literals(type: ArrayType) -> bool:
    """Whether an array consists of a few scalars."""
    is_small = 0 < volume(type) <= MAX_LITERAL_ELEMENTS
    return is_small and isinstance(innermost(type), ScalarType)


def rank(type: RiseType) -> int:
    return max(len(lengths) for lengths, _ in leaves(type))


def length_of(type: RiseType) -> int:
    assert isinstance(type, ArrayType)
    return type.length.constant


def is_matrix(type: RiseType) -> bool:
    return isinstance(type, ArrayType) and isinstance(element_of(type), ArrayType)


class RandomTypes:
    """Types over a few scalar types, so that values of one program can meet."""

    def __init__(self, choices: Choices, *, vectors: bool):
        self.choices = choices
        self.vectors = vectors
        names = ("f32", "i32", "f64", "i64", "i8", "f16", "bf16", "i16", "i1", "index",
                 "u8", "u32", "u16", "u64")  # fmt: skip
        count = 1 + choices.below(3)
        self.palette = [SCALARS[choices.of(names)] for _ in range(count)]
        self.is_mixed = True

    def use_only(self, *palette: ScalarType) -> None:
        """Draw all scalars from these types."""
        self.palette, self.is_mixed = list(palette), False

    def scalar(self) -> ScalarType:
        if self.is_mixed and self.choices.one_in(8):
            return self.choices.of(tuple(SCALARS.values()))
        return self.choices.of(self.palette)

    def length(self, room: int) -> int:
        """A length that leaves room for something inside."""
        return self.choices.of([length for length in LENGTHS if length <= max(room, 1)])

    def data(self, room: int, depth: int = 3) -> RiseType:
        if depth == 0 or room < 2:
            return self.scalar()
        make = self.choices.weighted(
            [(4, self._scalar), (4, self._array), (2, self._pair), (1, self._matrix)]
        )
        return make(room, depth)

    def indices(self) -> RiseType:
        return array(self.length(8), idx(self.choices.of((1, 2, 3, 5, 8))))

    def _scalar(self, room: int, depth: int) -> RiseType:
        if self.choices.one_in(12):
            return idx(self.choices.of((1, 2, 3, 5, 8)))
        if self.vectors and room > 1 and self.choices.one_in(8):
            return vector(self.choices.of([k for k in (2, 4, 1, 3) if k <= room]), self.scalar())
        return self.scalar()

    def _array(self, room: int, depth: int) -> RiseType:
        length = self.length(room)
        return self.bounded(lambda: array(length, self.data(room // max(length, 1), depth - 1)))

    def _pair(self, room: int, depth: int) -> RiseType:
        first = self.data(room // 2, depth - 1)
        return pair(first, self.data(room // 2, depth - 1))

    def _matrix(self, room: int, depth: int) -> RiseType:
        rows = self.length(room)
        columns = self.length(room // max(rows, 1))
        return array(rows, array(columns, self.scalar()))

    def bounded(self, make: Callable[[], RiseType]) -> RiseType:
        type = make()
        return type if rank(type) <= MAXIMUM_RANK else array(2, self.scalar())
