"""Which tiles of accumulators suit a product of matrices and a machine.

Each tile that fits the registers is a candidate, in up to two orders of the loops around it. What a
core takes for each is estimated in cycles: products, loads, what comes from the second cache, and
copies. The estimates were fitted to what tiles take; they only have to be right about which of two
is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.support.machine import Machine

PARALLEL_FROM = 1 << 20
"""Products from which on threads are worth their start."""
PACKED_FROM = 2
"""Tiles that have to use the same columns before these are copied."""
MOST_ROWS, MOST_VECTORS, MOST_TILES = 8, 16, 16
"""Of a tile, and of a block."""
FEW_ROWS, ROWS_AT_ONCE, VECTORS_AT_ONCE = 8, 4, 4
"""Up to how many rows columns are read once, as they lie; and what is read at once, so that a
cache keeps it where lines lie a power of two apart."""
SHORTEST_SHARE = 1 << 10
"""Bytes of a row that a thread reads at least."""
LINE = 64
"""Bytes of a line of a cache."""
LATENCY = 5
"""Cycles after which an accumulator can be added to again, and one to spare."""
FROM_SECOND_CACHE, FROM_THIRD_CACHE = 64, 32
"""Bytes in a cycle, of those that products do not hide."""


@dataclass(frozen=True)
class Shape:
    """How many rows, columns and products for each of their pairs, and bytes of an element."""

    rows: int
    columns: int
    depth: int
    bytes: int
    is_in_rows: bool = True
    """Whether what lies side by side in memory is of different columns."""

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.depth

    @property
    def is_parallel(self) -> bool:
        return self.products >= PARALLEL_FROM


@dataclass(frozen=True)
class Tiles:
    """The numbers that a machine and a shape ask for."""

    rows: int
    """Of a tile of accumulators, as its columns."""
    columns: int
    lanes: int
    """Columns that a vector has."""
    block: int
    """Tiles above each other for which all columns go by; 0 where all rows go by for some columns,
    and rows that no tile divides are a tile of their own."""
    is_kept: bool
    """Whether the rows of a tile are taken from vectors."""
    is_packed: bool
    is_parallel: bool
    is_turned: bool
    """Whether rows are packed in squares that are turned round in registers."""
    depth: int = 0
    """Products of each sum that are made before those of the next tile; 0 where all are."""
    share: int = 0
    """Columns that a thread has at a time, where not all products are made."""

    @property
    def is_by_columns(self) -> bool:
        return self.block == 0 and self.depth == 0

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes

    def __str__(self) -> str:
        copies = "packed" if self.is_packed else "in place"
        threads = "on threads" if self.is_parallel else "on one thread"
        blocks = "all rows" if self.is_by_columns else f"blocks of {self.block * self.rows} rows"
        if self.depth:
            blocks = f"{self.depth} products of each sum at a time"
        return (
            f"tiles of {self.rows} x {self.columns} in vectors of {self.lanes}, "
            f"{blocks}, {copies}, {threads}"
        )


def chosen_tiles(shape: Shape, machine: Machine, *, ahead: bool = False) -> Tiles:
    """The tiles that take the fewest cycles; `ahead`: where columns are copied before.

    Of those that are as good, the ones with shorter rows: where these are whole lines of a cache,
    each is written to memory when it is stored, and that is waited for.
    """
    is_near = shape.columns * shape.depth * shape.bytes <= machine.cache(2) // 2
    if shape.rows <= FEW_ROWS and shape.is_in_rows and not ahead and not is_near:
        return _streamed(shape, machine)
    candidates = [
        tiles for tiles in _candidates(shape, machine) if not (ahead and tiles.is_by_columns)
    ]
    return min(
        candidates,
        key=lambda tiles: (_cycles(tiles, shape, machine, ahead=ahead), tiles.columns),
    )


def _streamed(shape: Shape, machine: Machine) -> Tiles:
    """Tiles for few rows, which read the columns from one end of memory to the other."""
    lanes = machine.lanes(shape.bytes)
    rows = _times(shape.rows, _times(shape.rows, ROWS_AT_ONCE))
    share = share_of(shape, machine)
    most = min(VECTORS_AT_ONCE, _times(share, lanes))
    vectors = min(range(most, 0, -1), key=lambda each: -share % (each * lanes))
    is_parallel = share < shape.columns
    # Rows that lie a multiple of this apart have their lines in the same few places of a cache.
    is_crowded = shape.columns * shape.bytes % (machine.cache(1) // 8) == 0
    depth = ROWS_AT_ONCE if is_crowded else 2 * ROWS_AT_ONCE
    return Tiles(rows, vectors * lanes, lanes, 0, False, False, is_parallel, False, depth, share)


def share_of(shape: Shape, machine: Machine) -> int:
    """How many columns a thread has: a part of each row that is not too short to be read at once,
    and the same for all threads."""
    most = min(machine.cores, shape.columns * shape.bytes // SHORTEST_SHARE)
    counts = range(most, 0, -1) if shape.is_parallel else ()
    return shape.columns // next((each for each in counts if shape.columns % each == 0), 1)


def _candidates(shape: Shape, machine: Machine) -> Iterator[Tiles]:
    lanes = machine.lanes(shape.bytes)
    for rows in range(1, MOST_ROWS + 1):
        packed = _times(shape.rows, rows) >= PACKED_FROM
        # Rows that are not copied lie apart, and no vector has more than one of them.
        kept = packed and keeps(rows, lanes, machine)
        turned = lanes > 1 and rows % lanes == 0 and shape.depth % lanes == 0
        for vectors in range(1, min(MOST_VECTORS, _times(shape.columns, lanes)) + 1):
            if registers(rows, vectors, lanes, machine) > machine.registers:
                break
            columns, block = vectors * lanes, _block(rows, shape, machine)
            yield Tiles(rows, columns, lanes, block, kept, packed, shape.is_parallel, turned)
            if packed and _fits_by_columns(columns, shape, machine):
                yield Tiles(rows, columns, lanes, 0, kept, packed, shape.is_parallel, turned)


def _fits_by_columns(columns: int, shape: Shape, machine: Machine) -> bool:
    """Whether all rows stay in the second cache, and a tile's columns in the first one."""
    return (
        shape.columns >= PACKED_FROM * columns
        and shape.rows * shape.depth * shape.bytes <= machine.cache(2) // 2
        and max(columns * shape.bytes, LINE) * shape.depth <= machine.cache(1) // 2
    )


def _block(rows: int, shape: Shape, machine: Machine) -> int:
    """How many tiles above each other the second cache holds, and threads share well."""
    count = _times(shape.rows, rows)
    most = machine.cache(2) // 2 // (shape.depth * shape.bytes * rows)
    most = min(max(most, 2), MOST_TILES, max(1, count // 4) if shape.is_parallel else count)
    return min(
        range((most + 1) // 2, most + 1),
        key=lambda size: (_on_a_core(_times(count, size), shape, machine) * size, -size),
    )


def _times(whole: int, part: int) -> int:
    """How many parts make up the whole, the last of which may be a smaller one."""
    return -(-whole // part)


def _on_a_core(count: int, shape: Shape, machine: Machine) -> int:
    """How many of a number of blocks the core with the most of them has."""
    return _times(count, machine.cores) if shape.is_parallel else count


def keeps(rows: int, lanes: int, machine: Machine) -> bool:
    """Whether the rows of a tile can be taken from vectors."""
    return machine.multiplies_by_lanes and rows % lanes == 0


def registers(rows: int, vectors: int, lanes: int, machine: Machine) -> int:
    """How many vectors a tile has to have at hand."""
    taken = rows // lanes if keeps(rows, lanes, machine) else 1
    # In a tile of one row each vector of columns is used once, and need not be kept.
    return rows * vectors + (vectors if rows > 1 else 2) + taken


def _cycles(tiles: Tiles, shape: Shape, machine: Machine, *, ahead: bool = False) -> float:
    """What the core with the most work takes."""
    beside = _times(shape.columns, tiles.columns)
    copied = shape.depth * beside * tiles.vectors
    is_copied = tiles.is_packed and not ahead
    copies = 3 * _on_a_core(copied, shape, machine) if is_copied else 0
    if not tiles.is_by_columns:
        blocks = _on_a_core(_times(shape.rows, tiles.rows * tiles.block), shape, machine)
        return copies + blocks * tiles.block * beside * _of_tile(tiles, tiles.rows, shape, machine)
    above, rest = divmod(shape.rows, tiles.rows)
    column = above * _of_tile(tiles, tiles.rows, shape, machine)
    if rest:
        column += _of_tile(tiles, rest, shape, machine)
    return copies + _on_a_core(beside, shape, machine) * column


def _of_tile(tiles: Tiles, rows: int, shape: Shape, machine: Machine) -> float:
    """For two products and two loads of vectors in a cycle."""
    vectors, lanes = tiles.vectors, tiles.lanes
    is_kept = tiles.is_packed and keeps(rows, lanes, machine)
    loads = vectors + (rows // lanes if is_kept else rows)
    # Where lanes can be multiplied by, a load of all lanes of one number takes a product's place.
    is_filled = machine.multiplies_by_lanes and tiles.is_packed and not is_kept
    lanes_filled = rows if is_filled else 0
    round = max((rows * vectors + lanes_filled) / 2, loads / 2, LATENCY) + loads / 6
    if tiles.is_packed:
        round += _brought(tiles, shape, machine)
    else:
        # What is read where it lies is read in pieces, and the longer these are the better.
        round += 24 / vectors
    return shape.depth * round + 4 * rows * vectors


def _brought(tiles: Tiles, shape: Shape, machine: Machine) -> float:
    """The cycles of a round of a fold in which what it brings to the first cache is waited for."""
    most, line = machine.cache(1) * 7 // 8, shape.depth * shape.bytes
    above = tiles.block * tiles.rows or shape.rows
    of_rows = tiles.rows * shape.bytes if (above + tiles.columns) * line > most else 0
    if tiles.is_by_columns:
        return of_rows / FROM_SECOND_CACHE
    stays = (tiles.rows + tiles.columns) * line <= most
    of_columns = tiles.columns * shape.bytes / (tiles.block if stays else 1)
    is_near = shape.columns * line <= machine.cache(2)
    rate = FROM_SECOND_CACHE if is_near else FROM_THIRD_CACHE
    return of_rows / FROM_SECOND_CACHE + of_columns / rate
