"""CPU instructions that add dot products of groups of narrow numbers to wide accumulators.

`mma` is lowered to one of them; `support.machine` knows which ones a CPU has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from riselang.dialects.rise.types import ScalarType, bf16, f32, i8, i16, i32
from riselang.support.machine import Machine


@dataclass(frozen=True)
class DotUnit:
    """An instruction, and the tiles of a matrix multiplication that suit it."""

    name: str
    source: ScalarType
    accumulator: ScalarType
    group: int
    """The number of products that the instruction adds to each accumulator."""
    lanes: int
    """The accumulators of a vector; for AMX, those of a row of a tile."""
    rows: int
    """The rows of a register tile; `columns` are its columns."""
    columns: int
    chunk: int
    """The elements of a cache line: rows are stored in chunks of this length."""

    @property
    def has_tiles(self) -> bool:
        """Whether its operands are AMX tiles, not vectors."""
        return self.name.startswith("td")

    @property
    def adds(self) -> bool:
        """Whether it also adds the sums of a group to the accumulators."""
        return self.name != "vpmaddwd"

    def chunk_for(self, depth: int) -> int | None:
        """Return the length of the chunks for rows of a length; None if it cannot multiply them."""
        chunk = self.chunk if self.has_tiles else gcd(depth, self.chunk)
        return None if depth % chunk or chunk % self.group or not depth else chunk

    def fits(self, rows: int, columns: int, depth: int, chunk: int) -> bool:
        """Whether it can compute a tile of this size, whose rows are in chunks of this length."""
        if self.chunk_for(depth) is None or (self.has_tiles and chunk != self.chunk):
            return False
        if self.has_tiles:
            return (rows, columns) == (self.rows, self.columns)
        return columns % self.lanes == 0 and rows <= self.rows and columns <= self.columns


DOT_UNITS = (
    DotUnit("tdpbssd", i8, i32, 4, 16, 32, 32, 64),
    DotUnit("tdpbf16ps", bf16, f32, 2, 16, 32, 32, 32),
    DotUnit("vpdpbusd", i8, i32, 4, 16, 12, 32, 64),
    DotUnit("sdot", i8, i32, 4, 4, 8, 8, 64),
    DotUnit("bfdot", bf16, f32, 2, 4, 8, 8, 32),
    DotUnit("vpmaddwd", i16, i32, 2, 8, 6, 16, 32),
)
"""Of units with the same types, the fastest comes first."""


def dot_units_of(machine: Machine) -> Iterator[DotUnit]:
    """Yield the units that a machine has."""
    return (unit for unit in DOT_UNITS if unit.name in machine.dot_instructions)
