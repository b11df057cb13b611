"""Matrix multiplication, optimised step by step: seven versions, each built on the one before.

They are those of the ELEVATE work, for `A |> map(row => B |> transpose |> map(column => ...))`. An
eighth keeps its accumulators in registers, and a ninth asks the machine for all of its sizes. All
of them add in the order of the source, so all of them compute the same bits. Sizes have to be
multiples of the tiles, but for the last one.
"""

from __future__ import annotations

from riselang.rewrite.registry import whole
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
"""How many products are added to an accumulator one after the other."""
LANES = 4
ROWS, COLUMNS = 8, 8
"""A tile whose accumulators, in vectors, are half of the registers that processors have."""

baseline = whole("matmul.baseline", fuse(), "A fold for each element.")
blocking = whole(
    "matmul.blocking",
    baseline
    >> tile(TILE, TILE) @ outermost("map", nest=2)
    >> reorder(1, 2, 5, 3, 4) @ outermost("map")
    >> split(STEPS) @ outermost("reduce"),
    "Tiles of accumulators that stay in the cache, with the columns innermost.",
)
vectorization = whole(
    "matmul.vectorization",
    blocking >> vectorize(LANES) @ outermost("reduce"),
    "The accumulators in vectors.",
)
loop_permutation = whole(
    "matmul.loop_permutation",
    blocking >> interchange() @ innermost("reduce") >> vectorize(LANES) @ outermost("reduce"),
    "A row of accumulators takes several products before the next row.",
)
array_packing = whole(
    "matmul.array_packing",
    loop_permutation >> pack() @ outermost("map", over="columns") >> hoist(),
    "The columns of a tile copied to where they lie one behind the other.",
)
cache_blocks = whole(
    "matmul.cache_blocks",
    array_packing >> unroll() @ innermost("reduce"),
    "The products of a row of accumulators written out.",
)
parallel_blocks = whole(
    "matmul.parallel",
    cache_blocks >> parallel() @ outermost("map", over="rows"),
    "The tiles on threads.",
)
register_tiles = whole(
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
    "Tiles of accumulators that stay in registers, both matrices packed, on threads.",
)
goto = whole(
    "matmul.goto",
    baseline >> top_down(contraction()),
    "Register tiles and blocks of sizes that suit the machine and the matrices, which may be any.",
)
LADDER = (
    baseline, blocking, vectorization, loop_permutation, array_packing, cache_blocks,
    parallel_blocks, register_tiles, goto,
)  # fmt: skip
