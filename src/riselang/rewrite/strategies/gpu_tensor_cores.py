"""Matrix multiplications with the tensor cores of a GPU.

A block computes a tile of the result with `tensorMMA`. The epilogue, such as a bias, an activation
or a conversion, works on the registers that hold the sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    bf16,
    element_of,
    f8e4m3fn,
    f8e5m2,
    f16,
    f32,
    i8,
    i32,
)
from riselang.nat import Nat
from riselang.rewrite.combinators import try_
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Strategy
from riselang.rewrite.registry import program_strategy, schedule
from riselang.rewrite.rules.gpu import tile_over_all_blocks, tile_over_groups_of_blocks
from riselang.rewrite.rules.lowering import (
    map_over_rows_of_blocks,
    not_stored,
    store_matrices_transposed,
    store_on_heap,
)
from riselang.rewrite.rules.tails import pad_both_with_zeros
from riselang.rewrite.rules.tensor_cores import (
    copy_matrix,
    firsts_before_map,
    map_fragment,
    map_fragment_in_vectors,
    multiply_with_tensor_cores,
    split_depth,
    zip_rows_first,
)
from riselang.rewrite.strategies.dot_products import multiplied_types
from riselang.rewrite.strategies.epilogues import fuse_into_rows, sums_before_epilogue
from riselang.rewrite.strategies.gpu_operands import (
    Operand,
    element_layout,
    operands_of,
    transposed_arrays,
    unaligned_arrays,
    unreadable_arrays,
)
from riselang.rewrite.strategies.gpu_rows import FUSIONS
from riselang.rewrite.strategies.matmul_shapes import arguments_in_body, bytes_of, match_product
from riselang.rewrite.strategies.schedules import fuse, pads_before_zip
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, inside, normalize, top_down
from riselang.term.nodes import Lambda, Term

TYPES: tuple[tuple[RiseType, ScalarType], ...] = (
    (bf16, f32), (f16, f32), (f32, f32), (i8, i32), (f8e4m3fn, f32), (f8e5m2, f32),
)  # fmt: skip
"""The types of the elements and of the sums for which tensor cores are used."""
ROW_BYTES = 16
"""The number of bytes of which the rows of a matrix must be a multiple."""


MAX_PADDING = 2
"""The maximum factor by which padding may enlarge a result."""
SHORT_BYTES, VECTOR_TILES = 2, 4
"""The bytes of results that lanes exchange, and the number of tiles that they exchange at once."""


@dataclass(frozen=True)
class TensorTile:
    """The tile of a block: its warps, their tiles of 16 x 8 sums, and its steps."""

    step: int
    stages: int
    row_warps: int
    column_warps: int
    row_tiles: int
    column_tiles: int
    group: int = 8
    """The number of tiles of rows whose blocks run at the same time, so that they share columns in
    the cache."""
    in_rounds: bool = False
    """Whether a block computes several tiles."""
    in_vectors: bool = True
    """Whether lanes exchange results of 2 bytes, so that each stores 16 consecutive bytes."""

    @property
    def rows(self) -> int:
        return self.row_warps * self.row_tiles * 16

    @property
    def columns(self) -> int:
        return self.column_warps * self.column_tiles * 8

    @property
    def sums(self) -> int:
        """The number of sums of a thread."""
        return self.row_tiles * self.column_tiles * 4

    def fits(self, rows: Nat, columns: Nat, depth: Nat, bytes: int = SHORT_BYTES) -> bool:
        """Whether a matrix multiplication consists of full tiles, of elements of some bytes."""
        sizes = ((rows, self.rows), (columns, self.columns), (depth, ROW_BYTES // bytes))
        return all(size.is_constant and size.constant % part == 0 for size, part in sizes)

    def fits_padded(self, rows: Nat, columns: Nat, depth: Nat, bytes: int = SHORT_BYTES) -> bool:
        """Whether most of the tiles are elements of the result, and rows start at multiples of 16
        bytes."""
        sizes = (rows, columns, depth)
        if not all(size.is_constant and size.constant for size in sizes):
            return False
        if any(size.constant * bytes % ROW_BYTES for size in (columns, depth)):
            return False
        padded = self.blocks(rows, columns) * self.rows * self.columns
        return padded <= MAX_PADDING * rows.constant * columns.constant

    def with_elements_of(self, bytes: int) -> TensorTile:
        """Return the tile with steps of as many bytes for elements of another size."""
        return replace(self, step=self.step * SHORT_BYTES // bytes)

    def blocks(self, rows: Nat, columns: Nat) -> int:
        """Return the number of tiles."""
        return -(-rows.constant // self.rows) * -(-columns.constant // self.columns)

    def __str__(self) -> str:
        return f"tiles of {self.rows} x {self.columns} on tensor cores"

    def strategy(self) -> Strategy:
        return tensor_tiles(
            self.step, self.stages, self.row_warps, self.column_warps, self.row_tiles,
            self.column_tiles, self.group, in_rounds=self.in_rounds, in_vectors=self.in_vectors,
        )  # fmt: skip


HOPPER_TILES = (
    TensorTile(64, 4, 8, 1, 1, 32, in_rounds=True),
    TensorTile(64, 5, 8, 1, 1, 24, in_rounds=True),
    TensorTile(64, 6, 8, 1, 1, 16, in_rounds=True),
    TensorTile(64, 4, 4, 1, 1, 16, in_rounds=True),
    TensorTile(64, 6, 4, 1, 1, 8, in_rounds=True),
)
"""The tiles for `wgmma`: 128 x 256, 128 x 192, 128 x 128, 64 x 128, and 64 x 64."""
AMPERE_TILES = (TensorTile(32, 4, 2, 4, 4, 4), TensorTile(32, 4, 2, 2, 2, 4))
"""The tiles for `mma`: 128 x 128 and 64 x 64."""


TILES = {"wgmma": HOPPER_TILES, "mma": AMPERE_TILES}
"""The tiles for each instruction."""


@schedule
def tensor_tiles(
    step: int, stages: int, row_warps: int, column_warps: int, row_tiles: int, column_tiles: int,
    group: int = 8, *, in_rounds: bool = False, in_vectors: bool = True,
) -> Strategy:  # fmt: skip
    """Multiplies matrices in tiles on tensor cores, `step` products at a time; each warp has
    `row_tiles` x `column_tiles` tiles of 16 x 8 sums. Consecutive blocks share columns, and have
    different rows, in groups of `group`; a block computes several tiles if `in_rounds`. Lanes
    exchange results of 2 bytes to store 16 bytes at once if `in_vectors`."""
    return _TensorTiles(
        TensorTile(
            step, stages, row_warps, column_warps, row_tiles, column_tiles, group, in_rounds,
            in_vectors,
        )
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class _TensorTiles(Strategy):
    tile: TensorTile

    def run(self, term: Term, setting: Setting) -> Result:
        product = match_product(term)
        if product is None or product.has_matrix:
            return Failure(self, "expected a matrix multiplication", term)
        types = multiplied_types(term, setting)
        if types is None:
            reason = (
                'expected products that may be added in any order (float="relaxed" or order="any")'
            )
            return Failure(self, reason, term, closeness=CONDITION)
        if types[0] == f32 and setting.float != "relaxed":
            reason = 'tensor cores round f32 to tf32, which only float="relaxed" permits'
            return Failure(self, reason, term, closeness=CONDITION)
        bytes = _bytes_of_elements(types)
        if not self.tile.fits(*product.sizes, bytes):
            if self.tile.fits_padded(*product.sizes, bytes):
                return self._padded(*product.sizes[:2]).run(term, setting)
            reason = f"expected sizes that are multiples of {self.tile.rows} x {self.tile.columns}"
            return Failure(self, reason, term, closeness=CONDITION)
        tile, group = self.tile, self._group(product.sizes[0])
        sizes = (tile.row_warps, tile.column_warps, tile.row_tiles, tile.column_tiles)
        multiply = multiply_with_tensor_cores(tile.step, tile.stages, *sizes)
        tile_sums = (
            multiply >> copy_matrix
            if product.is_bare
            else sums_before_epilogue
            >> argument(try_(inside(firsts_before_map)) >> multiply)
            >> try_(zip_rows_first)
        )
        tile_over = tile_over_all_blocks if tile.in_rounds else tile_over_groups_of_blocks
        strategy = tile_over(group, tile.rows, tile.columns) >> top_down(
            tile_sums >> self._map_fragment(term)
        )
        return strategy.run(term, setting)

    def _padded(self, rows: Nat, columns: Nat) -> Strategy:
        """Return the strategy for rows and columns that are padded to full tiles."""
        tile = self.tile
        paddings = (-rows.constant % tile.rows, -columns.constant % tile.columns)
        multiply = inside(argument(try_(pads_before_zip))) >> self
        return pad_both_with_zeros(*paddings) >> argument(argument(multiply))

    def _map_fragment(self, term: Term) -> Strategy:
        """Return the law for the epilogue."""
        tile, result = self.tile, element_of(element_of(term.type))
        assert isinstance(result, ScalarType)
        sizes = (tile.row_warps, tile.column_warps, tile.row_tiles)
        is_short = bytes_of(result) == SHORT_BYTES
        if tile.in_vectors and is_short and tile.column_tiles % VECTOR_TILES == 0:
            return map_fragment_in_vectors(*sizes, tile.column_tiles // VECTOR_TILES)
        return map_fragment(*sizes, tile.column_tiles)

    def _group(self, rows: Nat) -> int:
        """Return the size of the groups of blocks: at most that of the tile, without a rest."""
        return gcd(self.tile.group, rows.constant // self.tile.rows)

    def __str__(self) -> str:
        tile = self.tile
        numbers = (
            tile.step, tile.stages, tile.row_warps, tile.column_warps, tile.row_tiles,
            tile.column_tiles, tile.group,
        )  # fmt: skip
        rounds = ", in_rounds=True" if tile.in_rounds else ""
        vectors = "" if tile.in_vectors else ", in_vectors=False"
        return f"tensor_tiles({', '.join(map(str, numbers))}{rounds}{vectors})"


def _bytes_of_elements(types: tuple[RiseType, RiseType]) -> int:
    return bytes_of(types[0]) if isinstance(types[0], ScalarType) else SHORT_BYTES


def tensor_strategy(term: Term, setting: Setting) -> Strategy | None:
    """Return the strategy for a matrix multiplication, or for several of the same size, with the
    tensor cores of a GPU."""
    tile = _choose_tile(term, setting, 1, operands_of(term))
    if tile is not None:
        return tile.strategy()
    batch = _batch_of_products(term)
    if batch is None:
        return None
    body, count, arrays = batch
    tile = _choose_tile(body, setting, count, operands_of(body, (element_layout(arrays),)))
    if tile is None:
        return None
    return inside(replace(tile, in_rounds=True).strategy()) >> map_over_rows_of_blocks


def copies_for_tensor_cores(term: Term, setting: Setting) -> list[tuple[Path, Strategy]]:
    """Return the paths of the arrays that must be copied so that tensor cores can read the operands
    of a matrix multiplication, or of several, and the laws that copy them."""
    batch = _batch_of_products(term)
    body, count, arrays = (term, 1, None) if batch is None else batch
    types = multiplied_types(body, setting)
    if types is None or _choose_tile(body, setting, count) is None:
        return []
    if arrays is not None:
        copied: list[tuple[Path, Strategy]] = [
            (path, store_on_heap) for path in unreadable_arrays(arrays, (1,), types[0], 3)
        ]
        transposed = transposed_arrays(body, arrays, (1,), types[0])
        return copied or [(path, _store_transposed) for path in transposed]
    outer = pattern_arguments(term, "map")
    assert outer is not None
    inner = arguments_in_body(outer[0], "map")
    assert inner is not None
    columns = (*FUNCTION_BODY, 1)
    paths = [
        *unreadable_arrays(outer[1], (1,), types[0], 2),
        *unreadable_arrays(inner[1], columns, types[0], 2),
    ]
    return [(path, store_on_heap) for path in paths]


def unaligned_matrices(term: Term, setting: Setting) -> list[tuple[Path, Strategy]]:
    """Return the paths of the operands of a matrix multiplication whose rows tensor cores read
    slowly where they are, and the laws that copy them to rows that start at multiples of 32 bytes.

    Memory is read in sectors of 32 bytes, and parts of a row of 128 bytes are in five of them if
    they start in the middle of one.
    """
    product, types = match_product(term), multiplied_types(term, setting)
    tile = _choose_tile(term, setting, 1, operands_of(term))
    if product is None or types is None or tile is None or setting.tensor_unit != "wgmma":
        return []
    outer = pattern_arguments(term, "map")
    assert outer is not None
    inner = arguments_in_body(outer[0], "map")
    assert inner is not None
    rows, columns, depth = product.sizes
    steps = -(-depth.constant // tile.step)
    rounds = rounds_of(tile.blocks(rows, columns))
    operands = ((outer[1], (1,), tile.rows), (inner[1], (*FUNCTION_BODY, 1), tile.columns))
    return [
        (path, law)
        for array, start, count in operands
        for path, bytes, law in unaligned_arrays(array, start, types[0])
        if rounds * steps * count * SECTOR_TIME > COPY_TIME + bytes * BYTE_TIME
    ]


SECTOR_TIME, COPY_TIME, BYTE_TIME = 0.6, 1500.0, 0.0005
"""The nanoseconds that an additional sector takes, those of a kernel that copies, and those of each
byte that it copies: measured on an H200."""

_copy_transposed = argument(try_(not_stored)) >> try_(normalize(FUSIONS))
_store_transposed = store_matrices_transposed >> argument(argument(_copy_transposed))
"""Copies matrices so that their columns are contiguous; transposes of transposes cancel."""


MAX_PARTS, MIN_DEPTH = 8, 1024
"""The maximum number of parts of a sum that blocks compute, and the minimum length of one."""


def depth_strategy(term: Term, setting: Setting) -> Strategy | None:
    """Return the strategy for a matrix multiplication whose tiles are too few to occupy a GPU:
    several blocks compute parts of the sums of a tile."""
    product = match_product(term)
    tile = _choose_tile(term, setting, 1, operands_of(term))
    types = multiplied_types(term, setting)
    if product is None or tile is None or types not in TYPES or setting.float != "relaxed":
        return None
    rows, columns, depth = product.sizes
    if setting.tensor_unit != "wgmma" or types[1] != f32 or not depth.is_constant:
        return None
    most = min(MULTIPROCESSORS // tile.blocks(rows, columns), depth.constant // MIN_DEPTH)
    divisors = [
        each
        for each in range(2, min(most, MAX_PARTS) + 1)
        if depth.constant % (each * tile.step) == 0
    ]
    if not divisors:
        return None
    split = split_depth(depth.constant // divisors[-1])
    if product.is_bare:
        return split
    return (
        sums_before_epilogue >> argument(try_(inside(firsts_before_map)) >> split) >> fuse_into_rows
    )


FUNCTION_BODY = (0, 1, 0)
"""The path of the body of a map's function."""


def _batch_of_products(term: Term) -> tuple[Term, int, Term] | None:
    """Return the body of a map that may multiply several matrices, their number, and the arrays."""
    batch = pattern_arguments(term, "map")
    if batch is None or not isinstance(batch[0], Lambda) or not isinstance(term.type, ArrayType):
        return None
    count = term.type.length
    is_batch = count.is_constant and match_product(batch[0].body) is not None
    return (batch[0].body, count.constant, batch[1]) if is_batch else None


Operands = tuple[Operand | None, Operand | None]


def _choose_tile(
    term: Term, setting: Setting, batch: int, operands: Operands | None = None
) -> TensorTile | None:
    """Return the largest tile of which a batch of matrix multiplications has enough, if any.

    Without operands, tensor cores can read them in all tiles.
    """
    product, types = match_product(term), multiplied_types(term, setting)
    if product is None or product.has_matrix or types not in TYPES:
        return None
    bytes = _bytes_of_elements(types)
    if types[0] == f32 and setting.float != "relaxed":
        return None  # f32 is rounded to tf32
    tiles = [tile.with_elements_of(bytes) for tile in TILES.get(setting.tensor_unit, ())]
    if operands is not None:
        tiles = [tile for tile in tiles if _reads_tiles(operands, tile, bytes)]
    fitting = [tile for tile in tiles if tile.fits(*product.sizes, bytes)]
    if not fitting and setting.tensor_unit == "wgmma":
        fitting = [tile for tile in tiles if tile.fits_padded(*product.sizes, bytes)]
    depth = product.sizes[2]
    if pattern_arguments(product.columns, "zip") and depth.is_constant:
        # A thread with few sums loads the operands of a long epilogue ahead of time.
        few = [tile for tile in fitting if tile.sums <= MAX_SUMS]
        fitting = few if few and depth.constant <= SHORT_DEPTH else fitting
    counts = {tile: tile.blocks(*product.sizes[:2]) * batch for tile in fitting}
    if setting.tensor_unit == "wgmma":
        return min(fitting, key=lambda tile: _relative_time(tile, counts[tile]), default=None)
    large = [tile for tile in fitting if counts[tile] >= MIN_BLOCKS]
    return large[0] if large else fitting[-1] if fitting else None


def _relative_time(tile: TensorTile, count: int) -> int:
    """Return a number that is proportional to the time of some tiles, of which each multiprocessor
    computes one at a time: that of their products, or that of copying their operands."""
    products = tile.rows * tile.columns
    return rounds_of(count) * max(products, (tile.rows + tile.columns) * PRODUCTS_PER_ELEMENT)


def rounds_of(count: int) -> int:
    """Return the number of tiles that a multiprocessor computes."""
    return -(-count // MULTIPROCESSORS)


def _reads_tiles(operands: Operands, tile: TensorTile, bytes: int) -> bool:
    """Whether tensor cores can read tiles of the operands."""
    lengths = (tile.rows, tile.columns)
    return all(
        operand is not None and operand.is_readable(bytes, length)
        for operand, length in zip(operands, lengths, strict=True)
    )


MIN_BLOCKS = 128
"""The minimum number of blocks for a size of tiles: about as many as a GPU has multiprocessors."""
MAX_SUMS, SHORT_DEPTH = 64, 1024
"""The sums of a thread with registers to spare, and the depth up to which an epilogue takes much of
the time."""
MULTIPROCESSORS, PRODUCTS_PER_ELEMENT = 132, 64
"""The multiprocessors of Hopper GPUs, and the products that one computes in the time in which it
copies an element of an operand."""

hopper = program_strategy(
    "gpu.matmul.hopper",
    fuse() >> top_down(HOPPER_TILES[0].strategy()),
    "Multiplies matrices of bf16 or f16 on the tensor cores of Hopper GPUs (`wgmma`), in tiles of "
    "128 x 256.",
)
tensor_cores = program_strategy(
    "gpu.matmul.tensor_cores",
    fuse() >> top_down(AMPERE_TILES[0].strategy()),
    "Multiplies matrices of bf16 or f16 on tensor cores (`mma.sync`), in tiles of 128 x 128.",
)
