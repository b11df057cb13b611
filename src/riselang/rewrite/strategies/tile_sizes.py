"""The choice of register tiles for the shape of a matrix multiplication and for a machine.

Every tile that fits the registers is a candidate, in up to two orders of the loops around it, and
with several divisions of the work into parallel parts. The cost model chooses: see `tile_costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm

from riselang.rewrite.strategies.tile_costs import (
    MAX_ROWS,
    MAX_TILES,
    MAX_VECTORS,
    blocks_per_core,
    can_load_rows_in_vectors,
    ceil_div,
    columns_are_near,
    columns_are_nearest,
    estimate_cycles,
    is_prefetched,
    result_is_far,
    square_lanes,
)
from riselang.rewrite.strategies.tiles import MatmulShape, Tiles
from riselang.support.machine import Machine

CALL_CYCLES = 2500
"""The cycles of a call besides the multiplication, which matter for small matrices."""
MIN_PACKED_TILES = 2
"""The minimum number of tiles that must use the same columns for packing to pay."""
MAX_TILES_IN_PLACE = 8
"""The maximum number of tiles that read the same columns of the L2 cache without packing them."""
FEW_ROWS, ROWS_AT_ONCE, VECTORS_AT_ONCE = 8, 4, 4
"""With at most `FEW_ROWS` rows, columns are read once, without packing. `ROWS_AT_ONCE` rows are
read together: a cache holds that many lines at addresses that differ by a power of two."""
MAX_UNEQUAL = 0.75
"""Threads have unequal shares if these take at most this part of the time of equal ones."""
MANY_TILES = 32
"""From how many vectors on the share of a thread consists of whole tiles."""
MIN_BYTES_PER_THREAD = 1 << 8
"""The minimum number of bytes that a thread reads from each row: a few cache lines, since a core
reads memory more slowly than all of them together."""
CACHE_LINE_BYTES = 64
COLUMNS_OF_CACHE = 2
"""The columns of a tile fill at most this part of the L2 cache: one half."""
MIN_LARGE_BLOCK = 64
"""The number of tiles that a block has at least, so that few reads of its columns are far, unless
a tile has few columns."""
FEW_COLUMNS_OF_CACHE = 8
"""If the columns of a tile fill at most this part of the L2 cache, one eighth, the rows of a block
stay there, too."""
ROWS_OF_CACHE = 4
"""The rows of a block that are not packed fill at most this part of the L2 cache, one fourth, if
the block can be halved."""
PIECES_PER_THREAD = 4
"""The number of pieces that a thread computes, so that a thread on a busy core takes fewer."""
DEPTH_MULTIPLE = 8
"""The number of products in a chunk is a multiple of this, so that they are packed in vectors."""
ROW_PREFETCH_BYTES, COLUMN_PREFETCH_BYTES = 4096, 2048
"""The distance of prefetches in packed rows, which come from the L2 cache, and in columns."""
MIN_BLOCK_COLUMNS = 512
"""The minimum number of columns of a thread if their total number is known only at run time."""


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
    if all(is_streamed(shape, machine) for shape in shapes):
        streamed = _choose_streamed_tiles(shapes[-1], machine)
        # Tiles of packed columns share out the rows, of which there are too few for threads.
        if not ahead or streamed.is_parallel:
            return streamed
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
        [CALL_CYCLES + estimate_cycles(tiles, each, machine, ahead=ahead) for tiles in candidates]
        for each in shapes
    ]
    totals = [
        sum(cost[index] / min(cost) for cost in costs) if len(shapes) > 1 else costs[0][index]
        for index in range(len(candidates))
    ]
    costs_of_tiles = zip(totals, candidates, strict=True)
    best = min(costs_of_tiles, key=lambda each: (each[0], each[1].columns))[1]
    return _halve_block(best, shapes[0], machine)


def _halve_block(tiles: Tiles, shape: MatmulShape, machine: Machine) -> Tiles:
    """Halve blocks of rows that are not packed, if they fill more than a part of the L2 cache.

    Measured with an L2 cache of 2 MiB, this is faster by 2 to 5 percent, although columns are read
    twice as often; the cost model, which assumes that they are read slowly, chooses larger blocks.
    """
    is_in_place = tiles.is_packed and not tiles.packs_rows and not tiles.is_by_columns
    block_bytes = tiles.block * tiles.rows * shape.depth * shape.bytes
    is_large = block_bytes * ROWS_OF_CACHE > machine.cache_bytes(2)
    if not is_in_place or not is_large or tiles.piece or tiles.block % 2 or tiles.depth:
        return tiles
    return replace(tiles, block=tiles.block // 2)


def is_streamed(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the right matrix is read row by row: there are few rows, and it fits no cache."""
    is_near = columns_are_near(shape, machine)
    return shape.rows <= FEW_ROWS and shape.is_row_major and not is_near


def _suits(tiles: Tiles, shapes: Sequence[MatmulShape], machine: Machine, *, ahead: bool) -> bool:
    """Whether tiles that were chosen for one shape can be used for all of them."""
    if not tiles.is_by_columns or tiles.columns_ahead:
        return True
    return not ahead and all(_fits_by_columns(tiles.columns, each, machine) for each in shapes)


def _choose_streamed_tiles(shape: MatmulShape, machine: Machine) -> Tiles:
    """Choose tiles for a left matrix with few rows, which read the right matrix row by row."""
    lanes = machine.lanes(shape.bytes)
    rows = ceil_div(shape.rows, ceil_div(shape.rows, ROWS_AT_ONCE))
    thread_columns = columns_per_thread(shape, machine)
    max_vectors = min(VECTORS_AT_ONCE, ceil_div(thread_columns, lanes))
    vectors = min(range(max_vectors, 0, -1), key=lambda each: -thread_columns % (each * lanes))
    is_parallel = thread_columns < shape.columns
    # Rows at distances that are multiples of this map to the same few sets of a cache.
    is_crowded = shape.columns * shape.bytes % (machine.cache_bytes(1) // 8) == 0
    depth = ROWS_AT_ONCE if is_crowded else 2 * ROWS_AT_ONCE
    return Tiles(
        rows, vectors * lanes, lanes, 0, False, False, is_parallel, False, depth, thread_columns
    )


def columns_per_thread(shape: MatmulShape, machine: Machine) -> int:
    """The number of columns per thread, large enough for efficient reads.

    It is the same for all threads if it can be; otherwise, one thread computes a few that remain.
    """
    if "columns" in shape.symbolic:
        return MIN_BLOCK_COLUMNS
    max_threads = min(machine.cores, shape.columns * shape.bytes // MIN_BYTES_PER_THREAD)
    counts = range(max_threads, 0, -1) if shape.is_parallel else ()
    equal = shape.columns // next((each for each in counts if shape.columns % each == 0), 1)
    lanes = machine.lanes(shape.bytes)
    share = shape.columns // max(1, max_threads)
    share -= share % (lanes * VECTORS_AT_ONCE if share >= MANY_TILES * lanes else lanes)
    if not counts or share == 0:
        return equal
    threads_left, columns_left = divmod(shape.columns, share)
    unequal = ceil_div(threads_left, max_threads) * share + columns_left
    return share if unequal < MAX_UNEQUAL * equal else equal


def _candidates(shape: MatmulShape, machine: Machine, *, ahead: bool) -> Iterator[Tiles]:
    lanes = machine.lanes(shape.bytes)
    # LLVM loads the constants of an epilogue before the loops over all tiles: if the accumulators
    # of a tile needed all registers, some of them would be in memory.
    registers = machine.registers - shape.has_epilogue
    for rows in range(1, MAX_ROWS + 1):
        is_packed = ceil_div(shape.rows, rows) >= MIN_PACKED_TILES
        # Rows that are not packed are not contiguous, so no vector contains elements of two rows.
        loads_rows_in_vectors = is_packed and can_load_rows_in_vectors(rows, lanes, machine)
        # Columns that are known only at run time and do not fill a square are copied one by one.
        divides = "depth" in shape.symbolic or shape.depth % lanes == 0
        is_transposed = lanes > 1 and rows % lanes == 0 and divides
        for vectors in range(1, min(MAX_VECTORS, ceil_div(shape.columns, lanes)) + 1):
            if register_count(rows, vectors, lanes, machine) > registers:
                break
            tiles = Tiles(
                rows, vectors * lanes, lanes, _tiles_per_block(rows, shape, machine),
                loads_rows_in_vectors, is_packed, shape.is_parallel, is_transposed,
            )  # fmt: skip
            has_tiles = shape.columns >= MIN_PACKED_TILES * tiles.columns
            if shape.symbolic and is_packed and is_prefetched(machine) and not ahead:
                # Blocks and chunks would be chosen for sizes that are known.
                in_place = replace(tiles, block=0, is_transposed=False, packs_rows=False)
                is_small = shape.has_stored_rows and not shape.is_parallel
                is_shallow = "depth" not in shape.symbolic and _rows_are_near(shape, machine)
                if is_small or is_shallow:
                    yield replace(in_place, columns_ahead=_columns_ahead(tiles.columns, shape))
                if _are_both_read_in_place(tiles, shape):
                    yield replace(in_place, loads_rows_in_vectors=False, is_packed=False)
                tiles = replace(
                    tiles, block=0, is_transposed=square_lanes(rows, lanes) > 1,
                    rows_ahead=_rows_ahead(rows, shape),
                    columns_ahead=_columns_ahead(tiles.columns, shape),
                )  # fmt: skip
            elif is_packed and has_tiles and _fits_by_columns(tiles.columns, shape, machine):
                yield replace(
                    tiles, block=0, is_transposed=square_lanes(rows, lanes) > 1,
                    packs_rows=not _rows_are_near(shape, machine),
                )  # fmt: skip
            if is_packed and not ahead and _columns_are_read_in_place(tiles, shape, machine):
                yield replace(tiles, loads_rows_in_vectors=False, is_packed=False)
            if shape.symbolic:
                pass
            elif is_packed and is_prefetched(machine):
                tiles = _prefetched(tiles, shape, machine, ahead=ahead)
                yield from _pieces(tiles, shape, machine, ahead=ahead)
                # The operands of an epilogue are read with columns that are packed before.
                if not shape.has_epilogue and not ahead:
                    yield from _own_pieces(tiles, shape, machine)
            elif is_prefetched(machine):
                tiles = replace(tiles, columns_ahead=_columns_ahead(tiles.columns, shape))
            yield tiles


def _rows_are_near(shape: MatmulShape, machine: Machine) -> bool:
    """Whether the rows of a tile stay in the L1 cache, so that they need not be packed."""
    tile_bytes = MAX_ROWS * shape.depth * shape.bytes
    is_near = is_prefetched(machine) and tile_bytes <= machine.cache_bytes(1) * 3 // 4
    return is_near and shape.has_stored_rows


def _are_both_read_in_place(tiles: Tiles, shape: MatmulShape) -> bool:
    """Whether tiles can read both matrices where they are, if sizes are known only at run time: few
    multiplications read matrices that fit the L2 cache, and no column of a tile is padding."""
    fills_tiles = "columns" in shape.symbolic or shape.columns % tiles.columns == 0
    is_stored = shape.has_stored_rows and shape.has_stored_columns
    return is_stored and fills_tiles and not shape.is_parallel


def _columns_are_read_in_place(tiles: Tiles, shape: MatmulShape, machine: Machine) -> bool:
    """Whether tiles can read both matrices where they are: these are stored near the core, no tile
    has padding, and few tiles read the same columns unless these stay in the L1 cache."""
    return (
        not shape.symbolic
        and shape.has_stored_columns
        and shape.columns % tiles.columns == 0
        and (shape.rows <= MAX_TILES_IN_PLACE * tiles.rows or columns_are_nearest(shape, machine))
        and columns_are_near(shape, machine)
        and _rows_are_near(shape, machine)
    )


def _pieces(tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool) -> Iterator[Tiles]:
    """Yield tiles whose blocks are divided into pieces of columns, one or more for a thread.

    If columns are packed beforehand, they come from memory, so a block may have all rows, or as
    many as stay in the L2 cache: the fewer blocks there are, the fewer threads read the same
    columns.
    """
    column_tiles = ceil_div(shape.columns, tiles.columns)
    row_tiles = ceil_div(shape.rows, tiles.rows)
    if machine.cores == 1 or not shape.is_parallel or tiles.depth:
        return
    tile_bytes = tiles.rows * shape.depth * shape.bytes
    least_blocks = ceil_div(row_tiles * tile_bytes, machine.cache_bytes(2) // 2)
    most_pieces = PIECES_PER_THREAD * machine.cores
    large_block = ceil_div(row_tiles, least_blocks) if ahead else tiles.block
    for block in dict.fromkeys((tiles.block, large_block)):
        blocks = ceil_div(row_tiles, block)
        if blocks >= most_pieces:
            continue
        is_large = block > tiles.block
        most = most_pieces // blocks if is_large else PIECES_PER_THREAD
        for count in range(2, min(most, column_tiles) + 1):
            piece = ceil_div(column_tiles, count)
            if ceil_div(column_tiles, piece) == count:
                yield replace(tiles, block=block, piece=piece)


def _own_pieces(tiles: Tiles, shape: MatmulShape, machine: Machine) -> Iterator[Tiles]:
    """Yield tiles whose pieces have columns that are packed where they are used: the rows and the
    columns of a piece stay in the L2 cache."""
    if machine.cores == 1 or not shape.is_parallel or tiles.depth:
        return
    row_tiles = ceil_div(shape.rows, tiles.rows)
    column_tiles = ceil_div(shape.columns, tiles.columns)
    line_bytes, max_bytes = shape.depth * shape.bytes, machine.cache_bytes(2) // 2
    for block in _halves(row_tiles):
        for piece in _halves(column_tiles):
            pieces = ceil_div(row_tiles, block) * (column_tiles // piece)
            is_near = max(block * tiles.rows, piece * tiles.columns) * line_bytes <= max_bytes
            if is_near and machine.cores <= pieces <= PIECES_PER_THREAD * machine.cores:
                yield replace(tiles, block=block, piece=piece, packs_pieces=True)


def _halves(count: int) -> Iterator[int]:
    """Yield a number of tiles, half of it, and so on while it is even."""
    yield count
    while count % 2 == 0:
        count //= 2
        yield count


def _prefetched(tiles: Tiles, shape: MatmulShape, machine: Machine, *, ahead: bool) -> Tiles:
    """Return tiles with blocks for packed columns in the L2 cache and prefetched operands.

    The columns of a tile stay in the L2 cache while the loop iterates over the rows of a block,
    which may come from the L3 cache: they are read once, in order, and much slower.
    """
    max_depth = machine.cache_bytes(2) // COLUMNS_OF_CACHE // (tiles.columns * shape.bytes)
    depth = shape.depth
    if depth > max_depth and not ahead:
        depth = _round_up(ceil_div(depth, ceil_div(depth, max_depth)), DEPTH_MULTIPLE)
    square = square_lanes(tiles.rows, tiles.lanes)
    block = _tiles_per_large_block(tiles, depth, shape, machine, packs_rows=False)
    has_padding = shape.rows % (tiles.rows * block) != 0
    is_near = depth == shape.depth and _rows_are_near(shape, machine)
    packs_rows = ahead or has_padding or not is_near
    if packs_rows:
        block = _tiles_per_large_block(tiles, depth, shape, machine, packs_rows=True)
    return replace(
        tiles,
        block=block,
        is_transposed=square > 1 and shape.depth % square == 0,
        depth=depth if depth < shape.depth else 0,
        rows_ahead=_rows_ahead(tiles.rows, shape) if packs_rows else 0,
        columns_ahead=_columns_ahead(tiles.columns, shape),
        packs_rows=packs_rows,
    )


def _rows_ahead(rows: int, shape: MatmulShape) -> int:
    """How many products before their use the elements of so many rows are prefetched."""
    return max(1, ROW_PREFETCH_BYTES // (rows * shape.bytes))


def _columns_ahead(columns: int, shape: MatmulShape) -> int:
    return max(1, COLUMN_PREFETCH_BYTES // (columns * shape.bytes))


def _tiles_per_large_block(
    tiles: Tiles, depth: int, shape: MatmulShape, machine: Machine, *, packs_rows: bool
) -> int:
    """The number of tiles in a block that fills most of the L2 cache, or half of it if rows are not
    packed, and balances the threads; one if all columns stay in the L2 cache and the result is
    large, so that its rows are written in order. The columns of a tile and the results share the
    cache with the block."""
    if columns_are_near(shape, machine) and result_is_far(shape, machine):
        return 1
    count, line_bytes = ceil_div(shape.rows, tiles.rows), depth * shape.bytes
    block_bytes = machine.cache_bytes(2) * 3 // 4 if packs_rows else machine.cache_bytes(2) // 2
    limit = block_bytes // (line_bytes * tiles.rows)
    has_few_columns = tiles.columns * line_bytes <= machine.cache_bytes(2) // FEW_COLUMNS_OF_CACHE
    limit = max(2 if has_few_columns or not packs_rows else MIN_LARGE_BLOCK, limit)
    limit = min(limit, ceil_div(count, machine.cores) if shape.is_parallel else count)
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
    count = ceil_div(shape.rows, rows)
    max_tiles = machine.cache_bytes(2) // 2 // (shape.depth * shape.bytes * rows)
    max_tiles = min(
        max(max_tiles, 2), MAX_TILES, max(1, count // 4) if shape.is_parallel else count
    )
    return _balanced_block(count, max_tiles, shape, machine)


def _balanced_block(count: int, max_tiles: int, shape: MatmulShape, machine: Machine) -> int:
    """The number of tiles in a block, of `count` tiles, that gives the cores the least work."""
    return min(
        range((max_tiles + 1) // 2, max_tiles + 1),
        key=lambda size: (blocks_per_core(ceil_div(count, size), shape, machine) * size, -size),
    )


def _round_up(size: int, multiple: int) -> int:
    return ceil_div(size, multiple) * multiple


def register_count(rows: int, vectors: int, lanes: int, machine: Machine) -> int:
    """The number of vector registers that a tile needs."""
    row_registers = rows // lanes if can_load_rows_in_vectors(rows, lanes, machine) else 1
    # In a tile of one row, each vector of columns is used once and needs no register.
    return rows * vectors + (vectors if rows > 1 else 2) + row_registers
