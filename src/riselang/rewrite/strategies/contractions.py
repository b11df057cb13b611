"""Matrix multiplications at the speed of BLAS libraries (after Goto and van de Geijn).

A register tile of accumulators stays in registers while a reduction iterates over the common
dimension. Both matrices are packed, so that the operands of the reduction are contiguous: the
columns once, the rows in blocks that stay in a cache while the loop iterates over all columns. Rows
and columns are padded to full tiles, and the padding is not stored. The order of the sums does not
change.

If both matrices are already in panels, the format that packing produces, they are not packed: the
register tile has the size of the panels, and sizes may be symbolic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import overload

from riselang.dialects.rise.types import ArrayType, RiseType
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard, Identity, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import map_fusion, peel_map
from riselang.rewrite.rules.lowering import (
    fetch_ahead,
    map_as_loop,
    map_in_parallel,
    pack_blocks,
    pack_vectors_by_rows,
    pack_vectors_of_blocks,
    pack_vectors_of_each_block,
    parallel_as_map,
)
from riselang.rewrite.rules.movement import drop_before_zip, split_before_map, take_before_zip
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.accumulate_tiles import (
    columns_of_block,
    pad_and_tile_with_matrix,
    tile_columns_with_matrix,
)
from riselang.rewrite.strategies.accumulators import pad_and_tile, tile_columns, vector_accumulators
from riselang.rewrite.strategies.epilogues import (
    at_columns,
    store_in_each_iteration,
    tile_pairs,
)
from riselang.rewrite.strategies.matmul_shapes import (
    Product,
    is_row_major,
    length_of,
    match_product,
)
from riselang.rewrite.strategies.operand_prefetch import fetch_operands
from riselang.rewrite.strategies.panels import panels_of
from riselang.rewrite.strategies.schedules import (
    by_size,
    collapse,
    hoist,
    pad_to_multiple,
    pads_before_zip,
    parallel,
    sequential,
    split,
)
from riselang.rewrite.strategies.skinny_matmul import (
    PeelColumns,
    accumulate_in_chunks,
    before_epilogue,
    streamed_rows,
    streamed_tiles,
)
from riselang.rewrite.strategies.tile_costs import columns_are_nearest, square_lanes
from riselang.rewrite.strategies.tile_sizes import (
    FEW_ROWS,
    ROWS_AT_ONCE,
    VECTORS_AT_ONCE,
    choose_common_tiles,
    choose_tiles,
    columns_per_thread,
    is_streamed,
)
from riselang.rewrite.strategies.tiles import MIN_PARALLEL_PRODUCTS, MatmulShape, Tiles
from riselang.rewrite.strategies.transposition import TransposeMostInSquares
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, body, function, inside
from riselang.support.machine import this_machine
from riselang.term.nodes import Term

GROUPS = (4, 3, 2, 1)
"""The number of rows that are read together when columns are packed: at most as many as a cache
holds lines at addresses that differ by a power of two."""


PACKED_ROWS_AHEAD = 16
"""How many rows before it is packed a row is prefetched."""


def strategy_for_tiles(tiles: Tiles) -> Strategy:
    """Return the strategy with these tile sizes."""
    if tiles.is_by_columns:
        multiply = column_tiles(
            tiles.rows, tiles.columns, tiles.lanes,
            kept=tiles.loads_rows_in_vectors, transposed=tiles.is_transposed,
            in_parallel=tiles.is_parallel,
            rows_ahead=tiles.rows_ahead, columns_ahead=tiles.columns_ahead,
            packs_rows=tiles.packs_rows, packs_columns=tiles.is_packed,
        )  # fmt: skip
        if not tiles.peels_columns:
            return multiply
        padded = replace(tiles, columns=tiles.lanes).narrower
        multiply_others, multiply_padded = map(strategy_for_tiles, (tiles.narrower, padded))
        peel = PeelColumns(tiles.columns, multiply, multiply_others, multiply_padded)
        return try_(parallel_as_map) >> peel
    if tiles.is_streamed:
        return streamed_tiles(
            tiles.rows, tiles.columns, tiles.lanes, depth=tiles.depth,
            columns_per_thread=tiles.columns_per_thread, in_parallel=tiles.is_parallel,
        )  # fmt: skip
    return register_tiles(
        tiles.rows, tiles.columns, tiles.lanes, block=tiles.block,
        kept=tiles.loads_rows_in_vectors, packed=tiles.is_packed, transposed=tiles.is_transposed,
        in_parallel=tiles.is_parallel, depth=tiles.depth,
        rows_ahead=tiles.rows_ahead, columns_ahead=tiles.columns_ahead,
        packs_rows=tiles.packs_rows, piece=tiles.piece, packs_pieces=tiles.packs_pieces,
    )  # fmt: skip


@schedule
def register_tiles(
    rows: int,
    columns: int,
    lanes: int,
    *,
    block: int,
    kept: bool = False,
    packed: bool = True,
    transposed: bool = False,
    in_parallel: bool = True,
    depth: int = 0,
    rows_ahead: int = 0,
    columns_ahead: int = 0,
    packs_rows: bool = True,
    piece: int = 0,
    packs_pieces: bool = False,
) -> Strategy:
    """Multiplies matrices in register tiles; a cache block has `block` tiles of rows. If `depth` is
    not 0, `depth` products are added to all sums before the next ones. Packed rows and columns are
    prefetched `rows_ahead` and `columns_ahead` products before they are used. If `packs_rows` is
    False, only columns are packed. If `piece` is not 0, each block is divided into pieces with
    `piece` tiles of columns, and threads share the pieces of all blocks; rows are packed before
    them, once for all pieces. With `packs_pieces`, the columns of each piece are packed where they
    are used, so that no other thread reads them."""
    tiles = _BlockedTiles(
        rows, columns, lanes, block, kept, packed, transposed, in_parallel, rows_ahead,
        columns_ahead, packs_rows, piece, packs_pieces,
    )  # fmt: skip
    if not depth:
        return tiles.multiply()
    first_chunk, chunk = tiles.multiply(), tiles.multiply(is_matrix_read=True)
    return before_epilogue(try_(parallel_as_map) >> accumulate_in_chunks(depth, chunk, first_chunk))


@dataclass(frozen=True)
class _BlockedTiles:
    """The arguments of `register_tiles` for the products of one chunk."""

    rows: int
    columns: int
    lanes: int
    block: int
    kept: bool
    packed: bool
    transposed: bool
    in_parallel: bool
    rows_ahead: int
    columns_ahead: int
    packs_rows: bool
    piece: int
    packs_pieces: bool

    def multiply(self, *, is_matrix_read: bool = False) -> Strategy:
        """Multiply matrices, or accumulate into a matrix, whose tiles may be prefetched."""
        rows, columns, block = self.rows, self.columns, self.block
        tile_maps = choice(
            pad_and_tile_with_matrix(rows, columns, block),
            pad_and_tile(rows, columns, block, max(1, self.piece)),
        )
        steps = [
            try_(parallel_as_map), tile_maps, vector_accumulators(self.lanes, self.kept) @ loop(3)
        ]  # fmt: skip
        if self.packed:
            steps += self._pack()
        if is_matrix_read and self.rows_ahead:
            steps.append(argument(argument(fetch_ahead(1))) @ loop(3))
        if self.rows_ahead or self.columns_ahead:
            steps.append(fetch_operands(columns, self.rows_ahead, self.columns_ahead))
        run_blocks = parallel() if self.in_parallel else sequential()
        return seq(*steps, run_blocks @ loop(1), sequential() @ loop(2))

    def _pack(self) -> list[Strategy]:
        run_copies = map_in_parallel if self.in_parallel else map_as_loop
        square = square_lanes(self.rows, self.lanes) if self.transposed else 0
        pack_columns = at_columns(_PackColumns(self.lanes, run_copies)) @ loop(2) >> hoist()
        if self.piece:
            # Not if a matrix is read with the columns: then threads share blocks.
            share_pieces = (_share_pieces(self.piece, is_packed=each) for each in (True, False))
            pack_columns >>= try_(choice(*share_pieces))
        if self.packs_pieces:
            pack_piece = at_columns(_PackColumns(self.lanes, map_as_loop)) @ loop(2) >> hoist()
            share_pieces = _share_pieces(self.piece, is_packed=False)
            pack_columns = choice(share_pieces >> pack_piece, pack_columns)
        steps = [split(self.block) @ loop(1), columns_of_block, pack_columns]
        if self.packs_rows and self.piece:
            # Threads share the rows as well: several pieces read the rows of a block.
            run_tiles = argument(argument(run_copies))
            steps.insert(0, at_columns(_pack_rows(square) >> run_tiles) @ loop(1) >> hoist())
        elif self.packs_rows:
            steps += [at_columns(_pack_rows(square)) @ loop(3), hoist()]
        return steps


@schedule
def column_tiles(
    rows: int,
    columns: int,
    lanes: int,
    *,
    kept: bool = False,
    transposed: bool = False,
    in_parallel: bool = True,
    rows_ahead: int = 0,
    columns_ahead: int = 0,
    packs_rows: bool = True,
    packs_columns: bool = True,
) -> Strategy:
    """Multiplies matrices in register tiles, a tile of columns with all rows at a time; the rows
    that do not fill a tile form smaller ones. Packed rows and columns are prefetched `rows_ahead`
    and `columns_ahead` products before they are used. Rows are packed unless `packs_rows` is False,
    and columns unless `packs_columns` is False."""
    pack_block = pack_vectors_of_each_block(lanes)
    if columns_ahead:
        pack_block >>= _fetch_copied_rows(PACKED_ROWS_AHEAD)
    pack_columns = store_in_each_iteration(pack_block) @ loop(1)
    steps = [
        try_(parallel_as_map),
        choice(tile_columns_with_matrix(columns), tile_columns(columns)),
        pack_columns if packs_columns else Identity(),
        _TileRows(rows, lanes, kept, transposed, packs_rows, in_parallel and rows_ahead > 0)
        @ loop(2),
        hoist(),
    ]
    if rows_ahead or columns_ahead:
        steps.append(fetch_operands(columns, rows_ahead, columns_ahead))
    return seq(*steps, (parallel() if in_parallel else sequential()) @ loop(1))


def _fetch_copied_rows(distance: int) -> Strategy:
    """Prefetch the rows of each block that `pack_vectors_of_each_block` copies: each of them is on
    another page of a large matrix, where the prefetchers of a CPU do not follow."""
    rows = argument(argument(argument(argument(fetch_ahead(distance)))))
    return function(argument(body(rows)))


HAS_ADJACENT_ROWS = Guard("the rows are the columns of a stored array", is_row_major)


def _share_pieces(size: int, *, is_packed: bool) -> Strategy:
    """Divide the columns of each block into pieces, and make the pieces of all blocks one loop."""
    move_views_inside = argument(split_before_map) >> map_fusion if is_packed else Identity()
    return split(size) @ loop(2) >> move_views_inside @ loop(2) >> collapse() @ loop(1)


def _pack_rows(square: int) -> Strategy:
    """Pack blocks of rows, in squares of this size if it is not 0."""
    return pack_blocks >> _in_blocks(TransposeMostInSquares(square)) if square else pack_blocks


@dataclass(frozen=True, repr=False)
class _PackColumns(Strategy):
    """Packs blocks of columns in vectors; row by row if the source is row-major."""

    lanes: int
    loop_strategy: Strategy
    """How the outermost loop of the copy runs."""

    def run(self, term: Term, setting: Setting) -> Result:
        depth = _third_length(term.type)
        if depth is None:
            return Failure(self, "expected blocks of columns", term, closeness=CONDITION)
        if not depth.is_constant or not is_row_major(term):
            run_blocks = argument(argument(self.loop_strategy))
            return (pack_vectors_of_blocks(self.lanes) >> run_blocks).run(term, setting)
        group = next(each for each in GROUPS if depth.constant % each == 0)
        run_groups = argument(argument(argument(argument(self.loop_strategy))))
        return (pack_vectors_by_rows(self.lanes, group) >> run_groups).run(term, setting)

    def __str__(self) -> str:
        return f"pack_columns({self.lanes})"


def _third_length(type: RiseType) -> Nat | None:
    """The length of the third dimension of a nested array."""
    for _ in range(2):
        if not isinstance(type, ArrayType):
            return None
        type = type.element
    return type.length if isinstance(type, ArrayType) else None


@dataclass(frozen=True, repr=False)
class _TileRows(Strategy):
    """Tiles all rows; the last tile may be smaller."""

    rows: int
    lanes: int
    kept: bool
    transposed: bool
    packs: bool
    packs_in_parallel: bool

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        if arguments is None:
            return Failure(self, "expected a map", term)
        length = length_of(arguments[1].type)
        if self.packs and not length.is_constant:
            pad_rows = pad_to_multiple(self.rows) >> argument(try_(argument(pads_before_zip)))
            return (pad_rows >> argument(self._tile_rows(self.rows))).run(term, setting)
        return self._tile_parts(length, self.rows).run(term, setting)

    def _tile_parts(self, length: Nat, rows: int) -> Strategy:
        """Tile the rows that fill tiles of so many rows, and the others in smaller tiles. Rows that
        are not packed are not padded: padding would add a condition to each load."""
        in_tiles = length // rows * rows
        remainder = length - in_tiles
        if remainder == 0:
            return self._tile_rows(rows)
        if in_tiles == 0:
            return self._tile_rows(remainder.constant)
        smaller = remainder.constant if remainder.is_constant else power_of_two_below(rows)
        tile_full = try_(argument(take_before_zip)) >> self._tile_rows(rows)
        tile_others = try_(argument(drop_before_zip)) >> self._tile_parts(remainder, smaller)
        tile_parts = function(argument(tile_full)) >> argument(tile_others)
        return peel_map(in_tiles) >> tile_parts

    def _tile_rows(self, rows: int) -> Strategy:
        divides = rows % self.lanes == 0
        square = square_lanes(rows, self.lanes) if self.transposed else 0
        pack_rows = _pack_rows(square)
        if (width := gcd(rows, self.lanes)) > 1:
            # The rows of a transposed matrix are next to each other in memory.
            pack_rows = choice(HAS_ADJACENT_ROWS >> pack_vectors_of_blocks(width), pack_rows)
        if self.packs_in_parallel:
            pack_rows >>= argument(argument(map_in_parallel))
        return seq(
            split(rows),
            try_(tile_pairs @ loop(1)),
            vector_accumulators(self.lanes, self.kept and divides) @ loop(2),
            at_columns(pack_rows) @ loop(1) if self.packs else Identity(),
            sequential() @ loop(1),
        )

    def __str__(self) -> str:
        flags = f"kept={self.kept}, transposed={self.transposed}"
        return f"tile_rows({self.rows}, {self.lanes}, {flags})"


def power_of_two_below(size: int) -> int:
    """The largest power of two that is less than a size of at least 2."""
    return 1 << (size - 1).bit_length() - 1


def _in_blocks(strategy: Strategy) -> Strategy:
    """Apply a strategy to the function that copies each packed block."""
    return argument(argument(inside(strategy)))


@dataclass(frozen=True)
class MatmulSchedule:
    """The schedule of a matrix multiplication; several versions if sizes are symbolic."""

    description: str
    strategy: Strategy


def schedule_matmul(term: Term, setting: Setting) -> MatmulSchedule | None:
    """Choose the schedule of a matrix multiplication for its shape and this machine."""
    product = match_product(term)
    shape = None if product is None else product.shape
    if product is None or shape is None:
        return None
    panels = panels_of(term)
    if panels is not None and panels.fits(this_machine()):
        return MatmulSchedule(str(panels), panels.strategy(this_machine()))
    can_stream = shape.is_row_major and not setting.precompute
    if shape.symbolic and "rows" not in shape.symbolic and shape.rows <= FEW_ROWS and can_stream:
        return _schedule_few_rows(product, shape)
    schedule = _schedule_by_products(shape.typical_shapes, product, setting)
    if "rows" in shape.symbolic and can_stream:
        few_rows = _schedule_few_rows(product, shape)
        return _choose_by_size(product.sizes[0], FEW_ROWS + 1, "rows", schedule, few_rows)
    return schedule


def _schedule_few_rows(product: Product, shape: MatmulShape) -> MatmulSchedule:
    """Read the right matrix row by row, if sizes are known only at run time."""
    lanes, columns = this_machine().lanes(shape.bytes), columns_per_thread(shape, this_machine())
    one_row_schedules = [
        MatmulSchedule(
            f"{ROWS_AT_ONCE} products of each sum at a time, {threads}",
            streamed_rows(
                ROWS_AT_ONCE, columns_per_thread=columns, in_parallel=threads == "in parallel"
            ),
        )
        for threads in ("in parallel", "on one thread")
    ]
    one_row = _choose_by_size(
        product.products, MIN_PARALLEL_PRODUCTS, "multiplications", *one_row_schedules
    )
    if shape.rows == 1:
        return one_row
    few_rows = replace(shape, rows=min(shape.rows, ROWS_AT_ONCE), symbolic=frozenset())
    if shape.symbolic <= {"rows"} and not is_streamed(few_rows, this_machine()):
        tiles = choose_tiles(few_rows, this_machine())
    else:
        tiles = Tiles(
            few_rows.rows, VECTORS_AT_ONCE * lanes, lanes, 0, False, False, False, False,
            2 * ROWS_AT_ONCE, columns,
        )  # fmt: skip
    return _choose_by_size(product.sizes[0], 2, "rows", _schedule_tiles(tiles), one_row)


def _schedule_by_products(
    shapes: Sequence[MatmulShape], product: Product, setting: Setting
) -> MatmulSchedule:
    """Choose tiles for large and for small matrices; only large ones are multiplied in parallel.

    If sizes are symbolic, right matrices that stay in the L1 cache have tiles of their own.
    """
    machine = this_machine()
    large = [each for each in shapes if each.is_parallel]
    near = [each for each in shapes if each not in large and columns_are_nearest(each, machine)]
    others = [each for each in shapes if each not in large and each not in near]
    near_schedule, other_schedule, large_schedule = (
        _schedule_tiles(choose_common_tiles(group, machine, ahead=setting.precompute))
        if group
        else None
        for group in (near, others, large)
    )
    _, columns, depth = product.sizes
    most_near = machine.cache_bytes(1) // 2 // shapes[0].bytes
    small_schedule = _choose_by_size(
        columns * depth, most_near + 1, "right elements", other_schedule, near_schedule
    )
    chosen = _choose_by_size(
        product.products, MIN_PARALLEL_PRODUCTS, "multiplications", large_schedule, small_schedule
    )
    assert chosen is not None, "a multiplication has a typical shape"
    return chosen


def _schedule_tiles(tiles: Tiles) -> MatmulSchedule:
    return MatmulSchedule(str(tiles), strategy_for_tiles(tiles))


@overload
def _choose_by_size(
    size: Nat, least: int, unit: str, large: MatmulSchedule, small: MatmulSchedule
) -> MatmulSchedule: ...
@overload
def _choose_by_size(
    size: Nat, least: int, unit: str, large: MatmulSchedule | None, small: MatmulSchedule | None
) -> MatmulSchedule | None: ...
def _choose_by_size(
    size: Nat, least: int, unit: str, large: MatmulSchedule | None, small: MatmulSchedule | None
) -> MatmulSchedule | None:
    """Choose one of two schedules, when the program runs if the size is known only then; if there
    is only one, or both are the same, choose that."""
    if large is None or small is None or large == small:
        return large or small
    if size.is_constant:
        return large if size.constant >= least else small
    description = f"at least {least} {unit}: {large.description}; fewer: {small.description}"
    return MatmulSchedule(description, by_size(str(size), least, large.strategy, small.strategy))


@dataclass(frozen=True, repr=False)
class Contraction(Strategy):
    """Register tiles for the shape of the term and for this machine."""

    def run(self, term: Term, setting: Setting) -> Result:
        schedule = schedule_matmul(term, setting)
        if schedule is None:
            reason = "expected a map of a map of a reduction, over arrays that are not empty"
            return Failure(self, reason, term, closeness=CONDITION)
        return schedule.strategy.run(term, setting)

    def __str__(self) -> str:
        return "contraction()"


@schedule
def contraction() -> Strategy:
    """Multiplies matrices in register tiles of sizes that suit this machine."""
    return Contraction()
