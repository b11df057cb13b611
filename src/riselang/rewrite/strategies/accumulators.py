"""Register tiles: the loops over them, and the reduction that updates them."""

from __future__ import annotations

from riselang.rewrite.combinators import seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.epilogues import (
    at_sums,
    sums_before_epilogue,
    tile_pairs,
    vectorize_epilogue,
)
from riselang.rewrite.strategies.schedules import (
    interchange,
    keep,
    pad_to_multiple,
    pads_before_zip,
    reorder,
    split,
    tile,
    vectorize,
)
from riselang.rewrite.traversals import argument


def vector_accumulators(lanes: int, kept: bool) -> Strategy:
    """Convert a map of a map of a reduction to a reduction with vector accumulators."""
    steps = [try_(sums_before_epilogue), at_sums(reorder(3, 1, 2)), at_sums(vectorize(lanes))]
    if kept:
        steps.append(at_sums(keep(lanes)))
    return seq(*steps, try_(vectorize_epilogue(lanes)))


def pad_and_tile(rows: int, columns: int, block: int, piece: int = 1) -> Strategy:
    """Tile two nested maps, padded to full blocks of `block` tiles of rows and to full pieces of
    `piece` tiles of columns."""
    return seq(
        pad_to_multiple(columns * piece) @ loop(2) >> try_(argument(pads_before_zip) @ loop(2)),
        pad_to_multiple(rows * block) @ loop(1),
        tile(rows, columns) @ loop(1),
        try_(tile_pairs @ loop(2)),
    )


def tile_columns(columns: int) -> Strategy:
    """Tile the columns; the loop over all rows is inside each tile."""
    return seq(
        pad_to_multiple(columns) @ loop(2) >> try_(argument(pads_before_zip) @ loop(2)),
        interchange() @ loop(1),
        split(columns) @ loop(1),
        try_(tile_pairs @ loop(1)),
        interchange() @ loop(2),
    )
