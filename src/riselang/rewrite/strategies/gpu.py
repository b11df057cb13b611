"""Matrix multiplications on GPUs: tiles in shared memory, and sums in the registers of each lane.

A block computes a tile of the result. It copies a few columns of its rows, and the same rows of its
columns, to shared memory, and adds their products to its sums before it copies the next ones. Each
warp computes a part of the tile, and each lane several 4 x 4 squares of that part, whose operands
it loads as vectors. The sums add in the order of the source, so results are bitwise identical.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.nat import Nat
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.paths import path_of_trail, subterms_outside_in
from riselang.rewrite.registry import program_strategy, schedule
from riselang.rewrite.rules.gpu import (
    copy_columns_by_warps,
    copy_rows_by_warps,
    reduce_in_warp_tiles,
    tile_over_blocks,
)
from riselang.rewrite.strategies.matmul_shapes import Product, bytes_of, is_row_major, match_product
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import run_at, top_down
from riselang.term.nodes import Term

VECTOR_BYTES = 16
"""The bytes that a thread loads or stores at once."""
SQUARE = 4
"""The rows and columns of the squares of sums that a lane computes."""
MIN_BLOCKS = 64
"""The minimum number of blocks for a size of tiles: fewer would leave most of a GPU idle."""


@dataclass(frozen=True)
class Side:
    """The rows of a tile, or its columns: of warps, of squares of each lane, and of lanes."""

    warps: int
    squares: int
    lanes: int

    @property
    def length(self) -> int:
        return self.warps * self.squares * self.lanes * SQUARE


@dataclass(frozen=True)
class BlockTile:
    """The tile that a block computes, and the number of products that it copies at a time."""

    depth: int
    rows: Side
    columns: Side

    def fits(self, rows: Nat, columns: Nat, depth: Nat, matrices: int = 1) -> bool:
        """Whether matrix multiplications consist of full tiles, and have enough of them."""
        sizes = ((rows, self.rows.length), (columns, self.columns.length), (depth, self.depth))
        if not all(size.is_constant and size.constant % part == 0 for size, part in sizes):
            return False
        tiles = rows.constant * columns.constant // (self.rows.length * self.columns.length)
        return matrices * tiles >= MIN_BLOCKS

    def __str__(self) -> str:
        return f"tiles of {self.rows.length} x {self.columns.length} in steps of {self.depth}"

    def strategy(self) -> Strategy:
        rows, columns = self.rows, self.columns
        return warp_tiles(
            self.depth, rows.warps, rows.squares, rows.lanes,
            columns.warps, columns.squares, columns.lanes,
        )  # fmt: skip


TILES = (
    BlockTile(16, Side(2, 2, 8), Side(4, 2, 4)),
    BlockTile(16, Side(2, 1, 8), Side(4, 1, 4)),
)
"""The tiles to choose from: 128 x 128 for large matrices, and 64 x 64."""


@schedule
def warp_tiles(
    depth: int, row_warps: int, row_squares: int, row_lanes: int,
    column_warps: int, column_squares: int, column_lanes: int,
) -> Strategy:  # fmt: skip
    """Multiplies matrices in tiles of a GPU's blocks, warps and lanes, `depth` products at a time.

    Each lane computes `row_squares` x `column_squares` squares of 4 x 4 elements.
    """
    rows = Side(row_warps, row_squares, row_lanes)
    columns = Side(column_warps, column_squares, column_lanes)
    return _WarpTiles(BlockTile(depth, rows, columns))


@dataclass(frozen=True, repr=False)
class _WarpTiles(Strategy):
    tile: BlockTile

    def run(self, term: Term, setting: Setting) -> Result:
        product = match_product(term)
        if product is None or not is_plain(product):
            return Failure(self, "expected a matrix multiplication without an epilogue", term)
        if bytes_of(product.type) * SQUARE != VECTOR_BYTES:
            reason = "expected elements of 4 bytes"
            return Failure(self, reason, term, closeness=CONDITION)
        tile, rows, columns = self.tile, self.tile.rows, self.tile.columns
        reduce_tile = reduce_in_warp_tiles(
            tile.depth, rows.warps, rows.squares, rows.lanes,
            columns.warps, columns.squares, columns.lanes,
        )  # fmt: skip
        strategy = (
            tile_over_blocks(rows.length, columns.length)
            >> top_down(reduce_tile)
            >> _AtStored(0, self._copy(product.rows, rows))
            >> _AtStored(1, self._copy(product.columns, columns))
        )
        return strategy.run(term, setting)

    def __str__(self) -> str:
        tile = self.tile
        numbers = (
            tile.depth, tile.rows.warps, tile.rows.squares, tile.rows.lanes,
            tile.columns.warps, tile.columns.squares, tile.columns.lanes,
        )  # fmt: skip
        return f"warp_tiles({', '.join(map(str, numbers))})"

    def _copy(self, operand: Term, side: Side) -> Strategy:
        """Copy a part of an operand in vectors, along the dimension in which it is contiguous."""
        warps = self.tile.rows.warps * self.tile.columns.warps
        if is_row_major(operand):
            return copy_rows_by_warps(warps, SQUARE)
        return copy_columns_by_warps(warps, side.lanes, SQUARE)


def is_plain(product: Product) -> bool:
    """Whether a matrix multiplication has no epilogue and starts from a constant."""
    return product.is_bare and not product.has_matrix


@dataclass(frozen=True, repr=False)
class _AtStored(Strategy):
    """Applies a strategy to one of the values that are stored in shared memory, in order."""

    number: int
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        stored = [
            (path_of_trail(trail), part)
            for trail, part in subterms_outside_in(term)
            if pattern_arguments(part, "toMem") is not None
        ]
        if len(stored) <= self.number:
            return Failure(self, f"fewer than {self.number + 1} values are stored", term)
        path, part = stored[self.number]
        return run_at(self.strategy, term, path, part, setting)

    def __str__(self) -> str:
        return f"at_stored({self.number}, {self.strategy})"


def choose_tile(product: Product, matrices: int = 1) -> BlockTile | None:
    """Return the largest tile of which a number of matrix multiplications have enough, if any."""
    if not is_plain(product) or bytes_of(product.type) * SQUARE != VECTOR_BYTES:
        return None
    return next((tile for tile in TILES if tile.fits(*product.sizes, matrices)), None)


simt = program_strategy(
    "gpu.matmul.simt",
    fuse() >> top_down(TILES[0].strategy()),
    "Multiplies matrices of 4-byte elements on a GPU, in tiles of 128 x 128.",
)
