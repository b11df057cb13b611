"""The cost of a matrix multiplication with register tiles, on a machine.

The model estimates the cycles of a core: multiplications, loads, transfers from the L2 cache, and
packing. It was fitted to measured times, and only has to be right about which of two tiles is
better.
"""

from __future__ import annotations

from dataclasses import replace

from riselang.rewrite.strategies.tiles import MatmulShape, Tiles
from riselang.support.machine import Machine

MAX_ROWS, MAX_VECTORS, MAX_TILES = 8, 16, 16
"""The maximum number of rows and of vectors of a tile, and of tiles of a block."""
FAR_BYTES_PER_CYCLE = 6
"""Bytes per cycle that a core reads from the L3 cache."""
IMBALANCE, SPREAD = 0.2, 0.8
"""The fraction of the time of a piece that threads wait for the last one. On CPUs that need
prefetches, cores differ more in speed, since wide vectors lower their frequency: `SPREAD` is the
fraction of the time of all pieces, if each thread has one; it decreases with the square of their
number."""
COPY, SHARED_COPY, OWN_COPY = 3, 12, 8
"""Cycles to pack a vector of columns: on CPUs that need prefetches, they grow with the number of
threads that read it, because each of their caches contains its line, unless a thread packs the
columns of its own piece."""
PREFETCHED_PER_CYCLE, ROWS_PER_CYCLE = 96, 64
"""Bytes per cycle of prefetched columns and of packed rows from the L2 cache that multiplications
do not hide."""
COPIES_PER_CYCLE = {1: 0.4, 2: 0.5}
"""Elements of the left matrix that are packed per cycle, by the size of the squares that are
transposed in registers; two elements if it is larger."""
MAX_STORED_ROWS, SCATTERED_STORE = 16, 24
"""The number of rows that can be written alternately to memory, and the cycles of a store
otherwise."""
FIRST_CACHE_VECTOR, SECOND_CACHE_VECTOR, FAR_COLUMNS = 0.15, 0.6, 24
"""The cycles by which an iteration of a reduction is longer if its columns are not contiguous: for
each vector of a matrix in the L1 or L2 cache; otherwise divided by the number of vectors, since
longer pieces are faster."""
CROWDED_VECTOR, CROWDED_BYTES = 1.2, 512
"""The same for each vector of a matrix that is not in the L1 cache, if its rows start at distances
that are multiples of so many bytes: their lines share few sets of the L1 cache."""
HIDDEN_LOADS = 12
"""The number of loads of an iteration that take a cycle on CPUs that need prefetches."""
SYMBOLIC_TILE = 140
"""The cycles of a tile that are spent on addresses and conditions, if sizes are known only at run
time."""
LATENCY = 5
"""The latency of an addition to an accumulator in cycles, plus one."""
FROM_SECOND_CACHE, FROM_THIRD_CACHE = 64, 32
"""Bytes per cycle of those transfers that multiplications do not hide."""


def is_prefetched(machine: Machine) -> bool:
    """Whether tiles read packed columns faster than the L3 cache delivers them, even the tiles with
    most rows; two products per cycle read a vector of columns each, which all rows share."""
    return 2 * machine.vector_bytes > MAX_ROWS * FAR_BYTES_PER_CYCLE


def square_lanes(rows: int, lanes: int) -> int:
    """The size of the largest square that fits a vector and divides the rows of a tile: rows are
    packed in squares that are transposed in registers."""
    return next(size for size in (64, 32, 16, 8, 4, 2, 1) if size <= lanes and rows % size == 0)


def columns_are_near(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the right matrix fits half of the L2 cache."""
    return shape.columns * shape.depth * shape.bytes <= machine.cache_bytes(2) // 2


def columns_are_nearest(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the right matrix fits half of the L1 cache."""
    return shape.columns * shape.depth * shape.bytes <= machine.cache_bytes(1) // 2


def result_is_far(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the result is so large that stores to it wait for memory."""
    near_bytes = min(machine.cache_bytes(3) // 2, 16 * machine.cache_bytes(2))
    return shape.rows * shape.columns * shape.bytes > near_bytes


def ceil_div(dividend: int, divisor: int) -> int:
    """Divide and round up."""
    return -(-dividend // divisor)


def blocks_per_core(count: int, shape: MatmulShape, machine: Machine) -> int:
    """The largest number of blocks that one core computes."""
    return ceil_div(count, machine.cores) if shape.is_parallel else count


def can_load_rows_in_vectors(rows: int, lanes: int, machine: Machine) -> bool:
    """Whether the rows of a tile can be loaded in vectors."""
    return machine.multiplies_by_lanes and rows % lanes == 0


def estimate_cycles(
    tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool = False
) -> float:
    """Estimate the cycles of the core with the most work; `ahead` means that columns are packed
    beforehand."""
    remainder = shape.columns % tiles.columns
    if tiles.peels_columns and remainder:
        others = estimate_cycles(tiles.narrower, replace(shape, columns=remainder), machine)
        if remainder == shape.columns:
            return others
        return others + estimate_cycles(
            tiles, replace(shape, columns=shape.columns - remainder), machine
        )
    column_tiles = ceil_div(shape.columns, tiles.columns)
    pieces = ceil_div(column_tiles, tiles.piece) if tiles.piece else 1
    copies: float = 0 if ahead else _column_copy_cycles(tiles, shape, machine)
    if tiles.rows_ahead:
        elements = blocks_per_core(shape.rows * shape.depth, shape, machine)
        square = square_lanes(tiles.rows, tiles.lanes) if tiles.is_transposed else 1
        copies += elements / COPIES_PER_CYCLE.get(square, 2.0)
    if not tiles.is_by_columns:
        row_tiles = ceil_div(shape.rows, tiles.rows)
        blocks = ceil_div(row_tiles, tiles.block) * pieces
        pieces_per_core = blocks_per_core(blocks, shape, machine)
        # Tiles that contain only padding are skipped.
        count = min(pieces_per_core * tiles.block, row_tiles * pieces) * (column_tiles / pieces)
        imbalance = _imbalance(pieces_per_core, machine) if blocks > pieces_per_core else 0
        return copies + count * _tile_cycles(tiles, tiles.rows, shape, machine) * (1 + imbalance)
    row_tiles, remainder = divmod(shape.rows, tiles.rows)
    column_cycles = row_tiles * _tile_cycles(tiles, tiles.rows, shape, machine)
    if remainder:
        column_cycles += _tile_cycles(tiles, remainder, shape, machine)
    return copies + blocks_per_core(column_tiles, shape, machine) * column_cycles


def _imbalance(pieces: int, machine: Machine) -> float:
    """Estimate how much longer the last thread runs, if each computes so many pieces."""
    return SPREAD / pieces**2 if is_prefetched(machine) else IMBALANCE / pieces


def _column_copy_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> int:
    """Estimate the cycles to pack columns."""
    if not tiles.is_packed:
        return 0
    column_tiles = ceil_div(shape.columns, tiles.columns)
    if tiles.packs_pieces:
        blocks = ceil_div(ceil_div(shape.rows, tiles.rows), tiles.block)
        pieces = blocks_per_core(blocks * (column_tiles // tiles.piece), shape, machine)
        return OWN_COPY * pieces * shape.depth * tiles.piece * tiles.vectors
    is_shared = is_prefetched(machine) and shape.is_parallel and not tiles.is_by_columns
    cycles = SHARED_COPY * machine.cores if is_shared and machine.cores > 1 else COPY
    vectors = shape.depth * column_tiles * tiles.vectors
    return cycles * blocks_per_core(vectors, shape, machine)


def _tile_cycles(tiles: Tiles, rows: int, shape: MatmulShape, machine: Machine) -> float:
    """Estimate the cycles of a tile, with two multiplications and two vector loads per cycle."""
    vectors, lanes = tiles.vectors, tiles.lanes
    loads_rows_in_vectors = tiles.is_packed and can_load_rows_in_vectors(rows, lanes, machine)
    loads = vectors + (rows // lanes if loads_rows_in_vectors else rows)
    # With multiplications by a lane, a broadcast load takes the issue slot of a multiplication.
    is_broadcast = machine.multiplies_by_lanes and tiles.is_packed and not loads_rows_in_vectors
    broadcasts = rows if is_broadcast else 0
    hidden_loads = HIDDEN_LOADS if is_prefetched(machine) else 6
    iteration = max((rows * vectors + broadcasts) / 2, loads / 2, LATENCY) + loads / hidden_loads
    if tiles.is_packed:
        iteration += _stall_cycles(tiles, shape, machine)
    else:
        iteration += _scattered_column_cycles(tiles, shape, machine)
    chunks = ceil_div(shape.depth, tiles.depth or shape.depth)
    store = _store_cycles(tiles, shape, machine)
    control = SYMBOLIC_TILE if shape.symbolic else 0
    return shape.depth * iteration + store * rows * vectors * chunks + control


def _scattered_column_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> float:
    """Estimate how many cycles the columns of a matrix that is not packed add to an iteration."""
    if not is_prefetched(machine) or not columns_are_near(shape, machine):
        return FAR_COLUMNS / tiles.vectors
    if columns_are_nearest(shape, machine):
        return tiles.vectors * FIRST_CACHE_VECTOR
    is_crowded = shape.columns * shape.bytes % CROWDED_BYTES == 0
    return tiles.vectors * (CROWDED_VECTOR if is_crowded else SECOND_CACHE_VECTOR)


def _store_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> int:
    """Estimate the cycles to store a vector of the result: many if the result is large and the
    stores alternate between more rows than the CPU combines."""
    block_rows = tiles.block * tiles.rows or shape.rows
    is_scattered = block_rows > MAX_STORED_ROWS and is_prefetched(machine)
    return SCATTERED_STORE if is_scattered and result_is_far(shape, machine) else 4


def _stall_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> float:
    """Estimate how many cycles an iteration of a reduction waits for transfers to the L1 cache."""
    if tiles.columns_ahead:
        column_bytes = tiles.columns * shape.bytes
        stall = column_bytes / PREFETCHED_PER_CYCLE
        if tiles.packs_rows:
            stall += tiles.rows * shape.bytes / ROWS_PER_CYCLE
        if tiles.is_by_columns or tiles.packs_pieces or columns_are_near(shape, machine):
            return stall
        return stall + column_bytes / (tiles.block * FAR_BYTES_PER_CYCLE)
    capacity, line = machine.cache_bytes(1) * 7 // 8, shape.depth * shape.bytes
    block_rows = tiles.block * tiles.rows or shape.rows
    row_bytes = tiles.rows * shape.bytes if (block_rows + tiles.columns) * line > capacity else 0
    if tiles.is_by_columns:
        return row_bytes / FROM_SECOND_CACHE
    is_resident = (tiles.rows + tiles.columns) * line <= capacity
    column_bytes = tiles.columns * shape.bytes / (tiles.block if is_resident else 1)
    is_near = shape.columns * line <= machine.cache_bytes(2)
    rate = FROM_SECOND_CACHE if is_near else FROM_THIRD_CACHE
    return row_bytes / FROM_SECOND_CACHE + column_bytes / rate
