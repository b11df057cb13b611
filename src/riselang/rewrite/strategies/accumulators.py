"""Register tiles: the loops around them, and the reduction that updates them."""

from __future__ import annotations

from riselang.rewrite.combinators import seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.rules.movement import pad_before_zip
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.epilogues import (
    at_sums,
    epilogue_in_vectors,
    pairs_of_tiles,
    sums_apart,
)
from riselang.rewrite.strategies.schedules import (
    fill,
    interchange,
    keep,
    reorder,
    split,
    tile,
    vectorize,
)
from riselang.rewrite.traversals import argument


def accumulators(lanes: int, kept: bool) -> Strategy:
    """Convert a map of a map of a reduction to a reduction with vector accumulators."""
    steps = [try_(sums_apart), at_sums(reorder(3, 1, 2)), at_sums(vectorize(lanes))]
    if kept:
        steps.append(at_sums(keep(lanes)))
    return seq(*steps, try_(epilogue_in_vectors(lanes)))


def filled_tiles(rows: int, columns: int, block: int) -> Strategy:
    """Tile two nested maps, padded to whole tiles and, in rows, to whole blocks of tiles."""
    return seq(
        fill(columns) @ loop(2) >> try_(argument(pad_before_zip) @ loop(2)),
        fill(rows * block) @ loop(1),
        tile(rows, columns) @ loop(1),
        try_(pairs_of_tiles @ loop(2)),
    )


def columns_outside(columns: int) -> Strategy:
    """Tile the columns; the loop over all rows is inside each tile."""
    return seq(
        fill(columns) @ loop(2) >> try_(argument(pad_before_zip) @ loop(2)),
        interchange() @ loop(1),
        split(columns) @ loop(1),
        try_(pairs_of_tiles @ loop(1)),
        interchange() @ loop(2),
    )
