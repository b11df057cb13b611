"""The choice of register tiles for the shape of a matrix multiplication and for a machine.

Every tile that fits the registers is a candidate, in up to two orders of the loops around it. A
cost model estimates the cycles of a core: multiplications, loads, transfers from the L2 cache, and
packing. It was fitted to measured times, and only has to be right about which of two tiles is
better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.support.machine import Machine

MIN_PARALLEL_PRODUCTS = 1 << 20
"""Multiplications from which on parallel loops are worth their overhead."""
MIN_PACKED_TILES = 2
"""The number of tiles that must use the same columns for packing to pay."""
MOST_ROWS, MOST_VECTORS, MOST_TILES = 8, 16, 16
"""The most rows of a tile, and tiles of a block."""
FEW_ROWS, ROWS_AT_ONCE, VECTORS_AT_ONCE = 8, 4, 4
"""Up to how many rows columns are read once, unpacked; and how many rows are read together, so that
a cache holds their lines at addresses that differ by a power of two."""
MIN_BYTES_PER_THREAD = 1 << 10
"""The least bytes of a row that a thread reads."""
CACHE_LINE_BYTES = 64
"""Bytes of a cache line."""
LATENCY = 5
"""Cycles until an accumulator can be added to again, and one to spare."""
FROM_SECOND_CACHE, FROM_THIRD_CACHE = 64, 32
"""Bytes per cycle, of transfers that multiplications do not hide."""


@dataclass(frozen=True)
class MatmulShape:
    """The rows, the columns, the products for each of their pairs, and the bytes of an element."""

    rows: int
    columns: int
    depth: int
    bytes: int
    is_row_major: bool = True
    """Whether elements of different columns are contiguous."""

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.depth

    @property
    def is_parallel(self) -> bool:
        return self.products >= MIN_PARALLEL_PRODUCTS


@dataclass(frozen=True)
class Tiles:
    """The tile sizes for a machine and a shape."""

    rows: int
    """The rows of a register tile; `columns` are its columns."""
    columns: int
    lanes: int
    """The columns in a vector."""
    block: int
    """Tiles of a block, for which a loop iterates over all columns; 0 if it iterates over all rows
    for some columns, where the rows that are left are a smaller tile."""
    loads_rows_in_vectors: bool
    """Whether the rows of a tile are loaded in vectors."""
    is_packed: bool
    is_parallel: bool
    is_transposed: bool
    """Whether rows are packed in squares that are transposed in registers."""
    depth: int = 0
    """Products that are added to each sum before those of the next tile; 0 for all."""
    columns_per_thread: int = 0
    """Columns that a thread computes at a time, if `depth` is not 0."""

    @property
    def is_by_columns(self) -> bool:
        return self.block == 0 and self.depth == 0

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes

    def __str__(self) -> str:
        copies = "packed" if self.is_packed else "in place"
        threads = "in parallel" if self.is_parallel else "on one thread"
        blocks = "all rows" if self.is_by_columns else f"blocks of {self.block * self.rows} rows"
        if self.depth:
            blocks = f"{self.depth} products of each sum at a time"
        return (
            f"tiles of {self.rows} x {self.columns} in vectors of {self.lanes}, "
            f"{blocks}, {copies}, {threads}"
        )


def choose_tiles(shape: MatmulShape, machine: Machine, *, ahead: bool = False) -> Tiles:
    """Choose the tiles that take the fewest cycles; `ahead` says that columns are packed before.

    Of equally good ones, prefer shorter rows: a row of whole cache lines is written to memory when
    it is stored, and the core waits for that.
    """
    is_near = shape.columns * shape.depth * shape.bytes <= machine.cache_bytes(2) // 2
    if shape.rows <= FEW_ROWS and shape.is_row_major and not ahead and not is_near:
        return _choose_streamed_tiles(shape, machine)
    candidates = [
        tiles for tiles in _candidates(shape, machine) if not (ahead and tiles.is_by_columns)
    ]
    return min(
        candidates,
        key=lambda tiles: (_cycles(tiles, shape, machine, ahead=ahead), tiles.columns),
    )


def _choose_streamed_tiles(shape: MatmulShape, machine: Machine) -> Tiles:
    """Choose tiles for few rows, which read the columns in row-major order."""
    lanes = machine.lanes(shape.bytes)
    rows = _ceil_div(shape.rows, _ceil_div(shape.rows, ROWS_AT_ONCE))
    thread_columns = columns_per_thread(shape, machine)
    most = min(VECTORS_AT_ONCE, _ceil_div(thread_columns, lanes))
    vectors = min(range(most, 0, -1), key=lambda each: -thread_columns % (each * lanes))
    is_parallel = thread_columns < shape.columns
    # Rows at distances that are multiples of this map to the same few sets of a cache.
    is_crowded = shape.columns * shape.bytes % (machine.cache_bytes(1) // 8) == 0
    depth = ROWS_AT_ONCE if is_crowded else 2 * ROWS_AT_ONCE
    return Tiles(
        rows, vectors * lanes, lanes, 0, False, False, is_parallel, False, depth, thread_columns
    )


def columns_per_thread(shape: MatmulShape, machine: Machine) -> int:
    """The number of columns of a thread: a part of each row that is long enough to be read
    efficiently, and the same for all threads."""
    most = min(machine.cores, shape.columns * shape.bytes // MIN_BYTES_PER_THREAD)
    counts = range(most, 0, -1) if shape.is_parallel else ()
    return shape.columns // next((each for each in counts if shape.columns % each == 0), 1)


def _candidates(shape: MatmulShape, machine: Machine) -> Iterator[Tiles]:
    lanes = machine.lanes(shape.bytes)
    for rows in range(1, MOST_ROWS + 1):
        packed = _ceil_div(shape.rows, rows) >= MIN_PACKED_TILES
        # Rows that are not packed are not contiguous, and no vector has more than one of them.
        kept = packed and can_load_rows_in_vectors(rows, lanes, machine)
        transposed = lanes > 1 and rows % lanes == 0 and shape.depth % lanes == 0
        for vectors in range(1, min(MOST_VECTORS, _ceil_div(shape.columns, lanes)) + 1):
            if register_count(rows, vectors, lanes, machine) > machine.registers:
                break
            columns, block = vectors * lanes, _tiles_per_block(rows, shape, machine)
            yield Tiles(rows, columns, lanes, block, kept, packed, shape.is_parallel, transposed)
            if packed and _fits_by_columns(columns, shape, machine):
                yield Tiles(rows, columns, lanes, 0, kept, packed, shape.is_parallel, transposed)


def _fits_by_columns(columns: int, shape: MatmulShape, machine: Machine) -> bool:
    """Whether all rows stay in the L2 cache, and the columns of a tile in the L1 cache."""
    return (
        shape.columns >= MIN_PACKED_TILES * columns
        and shape.rows * shape.depth * shape.bytes <= machine.cache_bytes(2) // 2
        and max(columns * shape.bytes, CACHE_LINE_BYTES) * shape.depth
        <= machine.cache_bytes(1) // 2
    )


def _tiles_per_block(rows: int, shape: MatmulShape, machine: Machine) -> int:
    """The most tiles of a block that fit the L2 cache and balance the load of the threads."""
    count = _ceil_div(shape.rows, rows)
    most = machine.cache_bytes(2) // 2 // (shape.depth * shape.bytes * rows)
    most = min(max(most, 2), MOST_TILES, max(1, count // 4) if shape.is_parallel else count)
    return min(
        range((most + 1) // 2, most + 1),
        key=lambda size: (_blocks_per_core(_ceil_div(count, size), shape, machine) * size, -size),
    )


def _ceil_div(whole: int, part: int) -> int:
    """The number of parts of the whole, the last of which may be smaller."""
    return -(-whole // part)


def _blocks_per_core(count: int, shape: MatmulShape, machine: Machine) -> int:
    """The number of blocks of the core that has the most of them."""
    return _ceil_div(count, machine.cores) if shape.is_parallel else count


def can_load_rows_in_vectors(rows: int, lanes: int, machine: Machine) -> bool:
    """Whether the rows of a tile can be loaded in vectors."""
    return machine.multiplies_by_lanes and rows % lanes == 0


def register_count(rows: int, vectors: int, lanes: int, machine: Machine) -> int:
    """The number of vector registers that a tile needs."""
    taken = rows // lanes if can_load_rows_in_vectors(rows, lanes, machine) else 1
    # In a tile of one row, each vector of columns is used once and needs no register.
    return rows * vectors + (vectors if rows > 1 else 2) + taken


def _cycles(tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool = False) -> float:
    """Estimate the cycles of the core with the most work."""
    beside = _ceil_div(shape.columns, tiles.columns)
    copied = shape.depth * beside * tiles.vectors
    is_copied = tiles.is_packed and not ahead
    copies = 3 * _blocks_per_core(copied, shape, machine) if is_copied else 0
    if not tiles.is_by_columns:
        blocks = _blocks_per_core(_ceil_div(shape.rows, tiles.rows * tiles.block), shape, machine)
        return copies + blocks * tiles.block * beside * _tile_cycles(
            tiles, tiles.rows, shape, machine
        )
    above, rest = divmod(shape.rows, tiles.rows)
    column = above * _tile_cycles(tiles, tiles.rows, shape, machine)
    if rest:
        column += _tile_cycles(tiles, rest, shape, machine)
    return copies + _blocks_per_core(beside, shape, machine) * column


def _tile_cycles(tiles: Tiles, rows: int, shape: MatmulShape, machine: Machine) -> float:
    """Estimate the cycles of a tile, with two multiplications and two vector loads per cycle."""
    vectors, lanes = tiles.vectors, tiles.lanes
    is_kept = tiles.is_packed and can_load_rows_in_vectors(rows, lanes, machine)
    loads = vectors + (rows // lanes if is_kept else rows)
    # With multiplications by a lane, a broadcast load takes the issue slot of a multiplication.
    is_filled = machine.multiplies_by_lanes and tiles.is_packed and not is_kept
    lanes_filled = rows if is_filled else 0
    round = max((rows * vectors + lanes_filled) / 2, loads / 2, LATENCY) + loads / 6
    if tiles.is_packed:
        round += _stall_cycles(tiles, shape, machine)
    else:
        # Unpacked operands are read in pieces, and longer pieces are faster.
        round += 24 / vectors
    return shape.depth * round + 4 * rows * vectors


def _stall_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> float:
    """Estimate the stall cycles of a reduction's iteration for transfers to the L1 cache."""
    most, line = machine.cache_bytes(1) * 7 // 8, shape.depth * shape.bytes
    above = tiles.block * tiles.rows or shape.rows
    of_rows = tiles.rows * shape.bytes if (above + tiles.columns) * line > most else 0
    if tiles.is_by_columns:
        return of_rows / FROM_SECOND_CACHE
    stays = (tiles.rows + tiles.columns) * line <= most
    of_columns = tiles.columns * shape.bytes / (tiles.block if stays else 1)
    is_near = shape.columns * line <= machine.cache_bytes(2)
    rate = FROM_SECOND_CACHE if is_near else FROM_THIRD_CACHE
    return of_rows / FROM_SECOND_CACHE + of_columns / rate
