"""Matrix multiplication, optimized step by step: seven versions, each built on the one before.

They are those of the ELEVATE paper, for `A |> map(row => B |> transpose |> map(column => ...))`. An
eighth keeps its accumulators in registers, and a ninth chooses all sizes for the machine. All of
them add in the order of the source, so the results are bitwise identical. Sizes must be multiples
of the tile sizes, except for the last version.
"""

from __future__ import annotations

from riselang.rewrite.registry import program_strategy
from riselang.rewrite.selectors import innermost, outermost
from riselang.rewrite.strategies.contractions import contraction
from riselang.rewrite.strategies.schedules import (
    fuse,
    hoist,
    interchange,
    pack,
    parallel,
    reorder,
    split,
    tile,
    unroll,
    vectorize,
)
from riselang.rewrite.traversals import top_down

TILE = 32
STEPS = 4
"""How many products are added to an accumulator consecutively."""
LANES = 4
ROWS, COLUMNS = 8, 8
"""A tile whose accumulators, in vectors, take half of the registers of a CPU."""

baseline = program_strategy("matmul.baseline", fuse(), "Computes a reduction for each element.")
blocking = program_strategy(
    "matmul.blocking",
    baseline
    >> tile(TILE, TILE) @ outermost("map", nest=2)
    >> reorder(1, 2, 5, 3, 4) @ outermost("map")
    >> split(STEPS) @ outermost("reduce"),
    "Computes tiles that stay in the cache, with the columns in the innermost loop.",
)
vectorization = program_strategy(
    "matmul.vectorization",
    blocking >> vectorize(LANES) @ outermost("reduce"),
    "Vectorizes the accumulators.",
)
loop_permutation = program_strategy(
    "matmul.loop_permutation",
    blocking >> interchange() @ innermost("reduce") >> vectorize(LANES) @ outermost("reduce"),
    "Adds several products to a row of accumulators before the next row.",
)
array_packing = program_strategy(
    "matmul.array_packing",
    loop_permutation >> pack() @ outermost("map", over="columns") >> hoist(),
    "Packs the columns of a tile into a contiguous buffer.",
)
cache_blocks = program_strategy(
    "matmul.cache_blocks",
    array_packing >> unroll() @ innermost("reduce"),
    "Unrolls the products of a row of accumulators.",
)
parallel_blocks = program_strategy(
    "matmul.parallel",
    cache_blocks >> parallel() @ outermost("map", over="rows"),
    "Computes the tiles in parallel.",
)
register_tiles = program_strategy(
    "matmul.register_tiles",
    baseline
    >> tile(ROWS, COLUMNS) @ outermost("map", nest=2)
    >> reorder(1, 2, 5, 3, 4) @ outermost("map")
    >> vectorize(LANES) @ outermost("reduce")
    >> pack() @ outermost("map", over="columns")
    >> hoist()
    >> pack() @ outermost("map", over="rows")
    >> hoist()
    >> parallel() @ outermost("map", over="rows"),
    "Computes register tiles in parallel, with both matrices packed.",
)
goto = program_strategy(
    "matmul.goto",
    baseline >> top_down(contraction()),
    "Computes matrices of any size in tiles and blocks chosen for the machine and the sizes.",
)
LADDER = (
    baseline, blocking, vectorization, loop_permutation, array_packing, cache_blocks,
    parallel_blocks, register_tiles, goto,
)  # fmt: skip
