"""The choice of register tiles for the shape of a matrix multiplication and for a machine.

Every tile that fits the registers is a candidate, in up to two orders of the loops around it. A
cost model estimates the cycles of a core: multiplications, loads, transfers from the L2 cache, and
packing. It was fitted to measured times, and only has to be right about which of two tiles is
better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from riselang.support.machine import Machine

MIN_PARALLEL_PRODUCTS = 1 << 20
"""The minimum number of multiplications for which parallel loops are worth their overhead."""
MIN_PACKED_TILES = 2
"""The minimum number of tiles that must use the same columns for packing to pay."""
MAX_ROWS, MAX_VECTORS, MAX_TILES = 8, 16, 16
"""The maximum number of rows and of vectors of a tile, and of tiles of a block."""
FEW_ROWS, ROWS_AT_ONCE, VECTORS_AT_ONCE = 8, 4, 4
"""With at most `FEW_ROWS` rows, columns are read once, without packing. `ROWS_AT_ONCE` rows are
read together: a cache holds that many lines at addresses that differ by a power of two."""
MIN_BYTES_PER_THREAD = 1 << 10
"""The minimum number of bytes that a thread reads from each row."""
CACHE_LINE_BYTES = 64
FAR_BYTES_PER_CYCLE = 6
"""Bytes per cycle that a core reads from the L3 cache."""
COLUMNS_OF_CACHE = 2
"""The columns of a tile fill at most this part of the L2 cache: one half."""
MIN_LARGE_BLOCK = 64
"""The number of tiles that a block has at least, so that few reads of its columns are far."""
PIECES_PER_THREAD = 4
"""The number of pieces that a thread computes, so that a thread on a busy core takes fewer."""
IMBALANCE = 0.2
"""The fraction of the time of a piece that threads wait for the last one."""
COPY, SHARED_COPY, OWN_COPY = 3, 12, 8
"""Cycles to pack a vector of columns: on CPUs that need prefetches, they grow with the number of
threads that read it, because each of their caches contains its line, unless a thread packs the
columns of its own piece."""
DEPTH_MULTIPLE = 8
"""The number of products in a chunk is a multiple of this, so that they are packed in vectors."""
PREFETCHED_PER_CYCLE, ROWS_PER_CYCLE = 96, 64
"""Bytes per cycle of prefetched columns and of packed rows from the L2 cache that multiplications
do not hide."""
COPIES_PER_CYCLE = {1: 0.7, 2: 1.0}
"""Elements of the left matrix that are packed per cycle, by the size of the squares that are
transposed in registers; two elements if it is larger."""
PREFETCH_BYTES = 2048
"""The distance of prefetches in rows and columns."""
MAX_STORED_ROWS, SCATTERED_STORE = 16, 24
"""The number of rows that can be written alternately to memory, and the cycles of a store
otherwise."""
PADDED_LOAD = 50
"""The cycles of a load that may be partly out of bounds, in the loop of a reduction."""
HIDDEN_LOADS = 12
"""The number of loads of an iteration that take a cycle on CPUs that need prefetches."""
LATENCY = 5
"""The latency of an addition to an accumulator in cycles, plus one."""
FROM_SECOND_CACHE, FROM_THIRD_CACHE = 64, 32
"""Bytes per cycle of those transfers that multiplications do not hide."""
TYPICAL_SIZES = (32, 64, 96, 256, 512, 1000, 1024, 2048)
"""The sizes for which tiles are chosen if a dimension is known only at run time."""
MIN_BLOCK_COLUMNS = 512
"""The minimum number of columns of a thread if their total number is known only at run time."""


@dataclass(frozen=True)
class MatmulShape:
    """The sizes of a matrix multiplication, in elements, and the bytes of an element."""

    rows: int
    columns: int
    depth: int
    """The common dimension of both matrices."""
    bytes: int
    is_row_major: bool = True
    """Whether the rows of the right matrix are contiguous."""
    symbolic: frozenset[str] = frozenset()
    """The dimensions that are known only at run time; their sizes here are typical ones."""
    has_stored_rows: bool = True
    """Whether the left matrix is stored, and its rows are contiguous."""

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.depth

    @property
    def is_parallel(self) -> bool:
        return self.products >= MIN_PARALLEL_PRODUCTS

    @property
    def typical_shapes(self) -> tuple[MatmulShape, ...]:
        """Shapes that a call may have: this one if all dimensions are known at compile time."""
        if not self.symbolic:
            return (self,)
        return tuple(replace(self, **dict.fromkeys(self.symbolic, size)) for size in TYPICAL_SIZES)


@dataclass(frozen=True)
class Tiles:
    """The tile sizes for a machine and a shape."""

    rows: int
    """The rows of a register tile; `columns` are its columns."""
    columns: int
    lanes: int
    """The columns in a vector."""
    block: int
    """The number of tiles in a block of rows, for which a loop iterates over all columns. If it is
    0, the loop iterates over all rows for a tile of columns, and the rows that do not fill a tile
    form a smaller one."""
    loads_rows_in_vectors: bool
    """Whether the rows of a tile are loaded in vectors."""
    is_packed: bool
    is_parallel: bool
    is_transposed: bool
    """Whether rows are packed in squares that are transposed in registers."""
    depth: int = 0
    """How many products are added to each sum before the loop continues with the next tile; 0 means
    all of them."""
    columns_per_thread: int = 0
    """How many columns a thread computes at a time, if the right matrix is read row by row."""
    rows_ahead: int = 0
    """How many products before their use the rows of a tile are prefetched; `columns_ahead` is the
    same for its columns."""
    columns_ahead: int = 0
    packs_rows: bool = True
    """Whether rows are packed as well as columns."""
    piece: int = 0
    """The number of column tiles in a piece: threads share the pieces of all blocks. 0 means all
    of them."""
    packs_pieces: bool = False
    """Whether the columns of each piece are packed where they are used."""

    @property
    def is_streamed(self) -> bool:
        """Whether the right matrix is read row by row, without packing."""
        return self.columns_per_thread != 0

    @property
    def is_by_columns(self) -> bool:
        return self.block == 0 and not self.is_streamed

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes

    def __str__(self) -> str:
        copies = "packed" if self.packs_rows else "packed columns"
        copies += " of each piece" if self.packs_pieces else ""
        copies = copies if self.is_packed else "in place"
        threads = "in parallel" if self.is_parallel else "on one thread"
        blocks = "all rows" if self.is_by_columns else f"blocks of {self.block * self.rows} rows"
        if self.piece:
            blocks += f" and {self.piece * self.columns} columns"
        if self.is_streamed:
            blocks = f"{self.depth} products of each sum at a time"
        elif self.depth:
            blocks += f", {self.depth} products of each sum at a time"
        return (
            f"tiles of {self.rows} x {self.columns} in vectors of {self.lanes}, "
            f"{blocks}, {copies}, {threads}"
        )


def choose_tiles(
    shape: MatmulShape, machine: Machine, *, ahead: bool = False, max_multiple: int | None = None
) -> Tiles:
    """Choose the tiles that take the fewest cycles; `ahead` means that columns are packed
    beforehand. The least common multiple of rows and columns is at most `max_multiple`.

    If several tiles are equally fast, prefer shorter rows: a row of complete cache lines is written
    to memory when it is stored, and the core waits for that.
    """
    return choose_common_tiles((shape,), machine, ahead=ahead, max_multiple=max_multiple)


def choose_common_tiles(
    shapes: Sequence[MatmulShape],
    machine: Machine,
    *,
    ahead: bool = False,
    max_multiple: int | None = None,
) -> Tiles:
    """Choose the tiles that take the fewest cycles, relative to the best ones for each shape, on
    average over typical shapes of a multiplication whose sizes are known only at run time."""
    if not ahead and all(is_streamed(shape, machine) for shape in shapes):
        return _choose_streamed_tiles(shapes[-1], machine)
    candidates = list(
        dict.fromkeys(
            tiles
            for shape in shapes
            for tiles in _candidates(shape, machine, ahead=ahead)
            if _suits(tiles, shapes, machine, ahead=ahead)
            and (max_multiple is None or lcm(tiles.rows, tiles.columns) <= max_multiple)
        )
    )
    costs = [
        [_cycles(tiles, each, machine, ahead=ahead) for tiles in candidates] for each in shapes
    ]
    totals = [
        sum(cost[index] / min(cost) for cost in costs) if len(shapes) > 1 else costs[0][index]
        for index in range(len(candidates))
    ]
    return min(zip(totals, candidates, strict=True), key=lambda each: (each[0], each[1].columns))[1]


def is_streamed(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the right matrix is read row by row: there are few rows, and it fits no cache."""
    is_near = _columns_are_near(shape, machine)
    return shape.rows <= FEW_ROWS and shape.is_row_major and not is_near


def _suits(tiles: Tiles, shapes: Sequence[MatmulShape], machine: Machine, *, ahead: bool) -> bool:
    """Whether tiles that were chosen for one shape can be used for all of them."""
    if not tiles.is_by_columns or tiles.rows_ahead:
        return True
    return not ahead and all(_fits_by_columns(tiles.columns, each, machine) for each in shapes)


def _choose_streamed_tiles(shape: MatmulShape, machine: Machine) -> Tiles:
    """Choose tiles for a left matrix with few rows, which read the right matrix row by row."""
    lanes = machine.lanes(shape.bytes)
    rows = _ceil_div(shape.rows, _ceil_div(shape.rows, ROWS_AT_ONCE))
    thread_columns = columns_per_thread(shape, machine)
    max_vectors = min(VECTORS_AT_ONCE, _ceil_div(thread_columns, lanes))
    vectors = min(range(max_vectors, 0, -1), key=lambda each: -thread_columns % (each * lanes))
    is_parallel = thread_columns < shape.columns
    # Rows at distances that are multiples of this map to the same few sets of a cache.
    is_crowded = shape.columns * shape.bytes % (machine.cache_bytes(1) // 8) == 0
    depth = ROWS_AT_ONCE if is_crowded else 2 * ROWS_AT_ONCE
    return Tiles(
        rows, vectors * lanes, lanes, 0, False, False, is_parallel, False, depth, thread_columns
    )


def columns_per_thread(shape: MatmulShape, machine: Machine) -> int:
    """The number of columns per thread, which is the same for all threads, and large enough for
    efficient reads."""
    if "columns" in shape.symbolic:
        return MIN_BLOCK_COLUMNS
    max_threads = min(machine.cores, shape.columns * shape.bytes // MIN_BYTES_PER_THREAD)
    counts = range(max_threads, 0, -1) if shape.is_parallel else ()
    return shape.columns // next((each for each in counts if shape.columns % each == 0), 1)


def _candidates(shape: MatmulShape, machine: Machine, *, ahead: bool) -> Iterator[Tiles]:
    lanes = machine.lanes(shape.bytes)
    for rows in range(1, MAX_ROWS + 1):
        is_packed = _ceil_div(shape.rows, rows) >= MIN_PACKED_TILES
        # Rows that are not packed are not contiguous, so no vector contains elements of two rows.
        loads_rows_in_vectors = is_packed and can_load_rows_in_vectors(rows, lanes, machine)
        divides = "depth" not in shape.symbolic and shape.depth % lanes == 0
        is_transposed = lanes > 1 and rows % lanes == 0 and divides
        for vectors in range(1, min(MAX_VECTORS, _ceil_div(shape.columns, lanes)) + 1):
            if register_count(rows, vectors, lanes, machine) > machine.registers:
                break
            tiles = Tiles(
                rows, vectors * lanes, lanes, _tiles_per_block(rows, shape, machine),
                loads_rows_in_vectors, is_packed, shape.is_parallel, is_transposed,
            )  # fmt: skip
            has_tiles = shape.columns >= MIN_PACKED_TILES * tiles.columns
            if shape.symbolic and is_packed and is_prefetched(machine) and not ahead:
                # Blocks and chunks would be chosen for sizes that are known.
                tiles = replace(
                    tiles, block=0, is_transposed=square_lanes(rows, lanes) > 1,
                    rows_ahead=_products_ahead(rows, shape),
                    columns_ahead=_products_ahead(tiles.columns, shape),
                )  # fmt: skip
            elif is_packed and has_tiles and _fits_by_columns(tiles.columns, shape, machine):
                yield replace(tiles, block=0, packs_rows=not _rows_are_near(shape, machine))
            if shape.symbolic:
                pass
            elif is_packed and is_prefetched(machine):
                tiles = _prefetched(tiles, shape, machine, ahead=ahead)
                yield from _pieces(tiles, shape, machine)
                yield from _own_pieces(tiles, shape, machine)
            elif is_prefetched(machine):
                tiles = replace(tiles, columns_ahead=_products_ahead(tiles.columns, shape))
            yield tiles


def _rows_are_near(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the rows of a tile stay in the L1 cache, so that they need not be packed."""
    tile_bytes = MAX_ROWS * shape.depth * shape.bytes
    is_near = is_prefetched(machine) and tile_bytes <= machine.cache_bytes(1) * 3 // 4
    return is_near and shape.has_stored_rows


def _pieces(tiles: Tiles, shape: MatmulShape, machine: Machine) -> Iterator[Tiles]:
    """Yield tiles whose blocks are divided into pieces of columns, one or more for a thread."""
    column_tiles = _ceil_div(shape.columns, tiles.columns)
    blocks = _ceil_div(shape.rows, tiles.rows * tiles.block)
    has_enough = blocks >= PIECES_PER_THREAD * machine.cores
    if machine.cores == 1 or not shape.is_parallel or tiles.depth or has_enough:
        return
    for count in range(2, PIECES_PER_THREAD + 1):
        if column_tiles % count == 0:
            yield replace(tiles, piece=column_tiles // count)


def _own_pieces(tiles: Tiles, shape: MatmulShape, machine: Machine) -> Iterator[Tiles]:
    """Yield tiles whose pieces have columns that are packed where they are used: the rows and the
    columns of a piece stay in the L2 cache."""
    if machine.cores == 1 or not shape.is_parallel or tiles.depth:
        return
    row_tiles = _ceil_div(shape.rows, tiles.rows)
    column_tiles = _ceil_div(shape.columns, tiles.columns)
    line_bytes, max_bytes = shape.depth * shape.bytes, machine.cache_bytes(2) // 2
    for block in _halves(row_tiles):
        for piece in _halves(column_tiles):
            pieces = _ceil_div(row_tiles, block) * (column_tiles // piece)
            is_near = max(block * tiles.rows, piece * tiles.columns) * line_bytes <= max_bytes
            if is_near and machine.cores <= pieces <= PIECES_PER_THREAD * machine.cores:
                yield replace(tiles, block=block, piece=piece, packs_pieces=True)


def _halves(count: int) -> Iterator[int]:
    """Yield a number of tiles, half of it, and so on while it is even."""
    yield count
    while count % 2 == 0:
        count //= 2
        yield count


def is_prefetched(machine: Machine) -> bool:
    """Whether tiles read packed columns faster than the L3 cache delivers them, even the tiles with
    most rows; two products per cycle read a vector of columns each, which all rows share."""
    return 2 * machine.vector_bytes > MAX_ROWS * FAR_BYTES_PER_CYCLE


def _prefetched(tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool) -> Tiles:
    """Return tiles with blocks for packed columns in the L2 cache and prefetched operands.

    The columns of a tile stay in the L2 cache while the loop iterates over the rows of a block,
    which may come from the L3 cache: they are read once, in order, and much slower.
    """
    max_depth = machine.cache_bytes(2) // COLUMNS_OF_CACHE // (tiles.columns * shape.bytes)
    depth = shape.depth
    if depth > max_depth and not ahead:
        depth = _round_up(_ceil_div(depth, _ceil_div(depth, max_depth)), DEPTH_MULTIPLE)
    square = square_lanes(tiles.rows, tiles.lanes)
    block = _tiles_per_large_block(tiles.rows, depth, shape, machine, packs_rows=False)
    has_padding = shape.rows % (tiles.rows * block) != 0
    is_near = depth == shape.depth and _rows_are_near(shape, machine)
    packs_rows = ahead or has_padding or not is_near
    if packs_rows:
        block = _tiles_per_large_block(tiles.rows, depth, shape, machine, packs_rows=True)
    return replace(
        tiles,
        block=block,
        is_transposed=square > 1 and shape.depth % square == 0,
        depth=depth if depth < shape.depth else 0,
        rows_ahead=_products_ahead(tiles.rows, shape) if packs_rows else 0,
        columns_ahead=_products_ahead(tiles.columns, shape),
        packs_rows=packs_rows,
    )


def _products_ahead(size: int, shape: MatmulShape) -> int:
    """How many products before their use so many elements of each are prefetched."""
    return max(1, PREFETCH_BYTES // (size * shape.bytes))


def square_lanes(rows: int, lanes: int) -> int:
    """The size of the largest square that fits a vector and divides the rows of a tile: rows are
    packed in squares that are transposed in registers."""
    return next(size for size in (64, 32, 16, 8, 4, 2, 1) if size <= lanes and rows % size == 0)


def _tiles_per_large_block(
    rows: int, depth: int, shape: MatmulShape, machine: Machine, *, packs_rows: bool
) -> int:
    """The number of tiles in a block that is as large as the L2 cache, or half of it if rows are
    not packed, and balances the threads; one if all columns stay in the L2 cache and the result is
    large, so that its rows are written in order."""
    if _columns_are_near(shape, machine) and _result_is_far(shape, machine):
        return 1
    count = _ceil_div(shape.rows, rows)
    limit = machine.cache_bytes(2) // (1 if packs_rows else 2) // (depth * shape.bytes * rows)
    limit = max(MIN_LARGE_BLOCK if packs_rows else 2, limit)
    limit = min(limit, _ceil_div(count, machine.cores) if shape.is_parallel else count)
    return _balanced_block(count, limit, shape, machine)


def _fits_by_columns(columns: int, shape: MatmulShape, machine: Machine) -> bool:
    """Whether all rows stay in the L2 cache, and the columns of a tile in half of the L1 cache;
    the rows of a tile and its results pass through the other half."""
    return (
        shape.rows * shape.depth * shape.bytes <= machine.cache_bytes(2) // 2
        and max(columns * shape.bytes, CACHE_LINE_BYTES) * shape.depth
        <= machine.cache_bytes(1) // 2
    )


def _tiles_per_block(rows: int, shape: MatmulShape, machine: Machine) -> int:
    """The largest number of tiles in a block that fits the L2 cache and balances the threads."""
    count = _ceil_div(shape.rows, rows)
    max_tiles = machine.cache_bytes(2) // 2 // (shape.depth * shape.bytes * rows)
    max_tiles = min(
        max(max_tiles, 2), MAX_TILES, max(1, count // 4) if shape.is_parallel else count
    )
    return _balanced_block(count, max_tiles, shape, machine)


def _columns_are_near(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the right matrix fits half of the L2 cache."""
    return shape.columns * shape.depth * shape.bytes <= machine.cache_bytes(2) // 2


def _result_is_far(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the result is so large that stores to it wait for memory."""
    near_bytes = min(machine.cache_bytes(3) // 2, 16 * machine.cache_bytes(2))
    return shape.rows * shape.columns * shape.bytes > near_bytes


def _balanced_block(count: int, max_tiles: int, shape: MatmulShape, machine: Machine) -> int:
    """The number of tiles in a block, of `count` tiles, that gives the cores the least work."""
    return min(
        range((max_tiles + 1) // 2, max_tiles + 1),
        key=lambda size: (_blocks_per_core(_ceil_div(count, size), shape, machine) * size, -size),
    )


def _round_up(size: int, multiple: int) -> int:
    return _ceil_div(size, multiple) * multiple


def _ceil_div(dividend: int, divisor: int) -> int:
    """Divide and round up."""
    return -(-dividend // divisor)


def _blocks_per_core(count: int, shape: MatmulShape, machine: Machine) -> int:
    """The largest number of blocks that one core computes."""
    return _ceil_div(count, machine.cores) if shape.is_parallel else count


def can_load_rows_in_vectors(rows: int, lanes: int, machine: Machine) -> bool:
    """Whether the rows of a tile can be loaded in vectors."""
    return machine.multiplies_by_lanes and rows % lanes == 0


def register_count(rows: int, vectors: int, lanes: int, machine: Machine) -> int:
    """The number of vector registers that a tile needs."""
    row_registers = rows // lanes if can_load_rows_in_vectors(rows, lanes, machine) else 1
    # In a tile of one row, each vector of columns is used once and needs no register.
    return rows * vectors + (vectors if rows > 1 else 2) + row_registers


def _cycles(tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool = False) -> float:
    """Estimate the cycles of the core with the most work."""
    column_tiles = _ceil_div(shape.columns, tiles.columns)
    copied_vectors = shape.depth * column_tiles * tiles.vectors
    pieces = column_tiles // tiles.piece if tiles.piece else 1
    copies: float = 0
    if tiles.packs_pieces:
        all_pieces = _ceil_div(_ceil_div(shape.rows, tiles.rows), tiles.block) * pieces
        piece_vectors = shape.depth * tiles.piece * tiles.vectors
        copies = OWN_COPY * _blocks_per_core(all_pieces, shape, machine) * piece_vectors
    elif tiles.is_packed and not ahead:
        is_shared = is_prefetched(machine) and shape.is_parallel and not tiles.is_by_columns
        cost = max(COPY, SHARED_COPY * machine.cores) if is_shared and machine.cores > 1 else COPY
        copies = cost * _blocks_per_core(copied_vectors, shape, machine)
    if tiles.rows_ahead:
        elements = _blocks_per_core(shape.rows * shape.depth * pieces, shape, machine)
        square = square_lanes(tiles.rows, tiles.lanes) if tiles.is_transposed else 1
        copies += elements / COPIES_PER_CYCLE.get(square, 2.0)
    if not tiles.is_by_columns:
        row_tiles = _ceil_div(shape.rows, tiles.rows)
        blocks = _ceil_div(row_tiles, tiles.block) * pieces
        pieces_per_core = _blocks_per_core(blocks, shape, machine)
        # Tiles that contain only padding are skipped.
        count = min(pieces_per_core * tiles.block, row_tiles * pieces) * (column_tiles // pieces)
        imbalance = IMBALANCE / pieces_per_core if blocks > pieces_per_core else 0
        return copies + count * _tile_cycles(tiles, tiles.rows, shape, machine) * (1 + imbalance)
    row_tiles, remainder = divmod(shape.rows, tiles.rows)
    column_cycles = row_tiles * _tile_cycles(tiles, tiles.rows, shape, machine)
    if remainder:
        column_cycles += _tile_cycles(tiles, remainder, shape, machine)
    return copies + _blocks_per_core(column_tiles, shape, machine) * column_cycles


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
        # Unpacked operands are read in pieces, and longer pieces are faster.
        iteration += 24 / vectors
        if shape.columns % tiles.columns:
            iteration += PADDED_LOAD * vectors
    chunks = _ceil_div(shape.depth, tiles.depth or shape.depth)
    store = _store_cycles(tiles, shape, machine)
    return shape.depth * iteration + store * rows * vectors * chunks


def _store_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> int:
    """Estimate the cycles to store a vector of the result: many if the result is large and the
    stores alternate between more rows than the CPU combines."""
    block_rows = tiles.block * tiles.rows or shape.rows
    is_scattered = block_rows > MAX_STORED_ROWS and is_prefetched(machine)
    return SCATTERED_STORE if is_scattered and _result_is_far(shape, machine) else 4


def _stall_cycles(tiles: Tiles, shape: MatmulShape, machine: Machine) -> float:
    """Estimate how many cycles an iteration of a reduction waits for transfers to the L1 cache."""
    if tiles.columns_ahead:
        column_bytes = tiles.columns * shape.bytes
        stall = column_bytes / PREFETCHED_PER_CYCLE
        if tiles.packs_rows:
            stall += tiles.rows * shape.bytes / ROWS_PER_CYCLE
        if tiles.is_by_columns or tiles.packs_pieces or _columns_are_near(shape, machine):
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
