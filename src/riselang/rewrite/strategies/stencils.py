"""Stencils, tiled so that each tile and its border are read into fast memory once."""

from __future__ import annotations

from riselang.rewrite.combinators import seq
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import overlapped_tiling, overlapped_tiling_2d
from riselang.rewrite.rules.lowering import store_elements
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.traversals import argument, inside, top_down


@schedule
def overlapped_tiles(size: int) -> Strategy:
    """The windows of an array in tiles, each copied with its border before it is used."""
    store = argument(store_elements)
    return fuse() >> top_down(seq(overlapped_tiling(size), store))


@schedule
def overlapped_tiles_2d(rows: int, columns: int) -> Strategy:
    """The windows of a grid in tiles, each copied with its border before it is used."""
    # join of a map over bands of rows; each band a view of a map over its tiles.
    band = argument(argument(store_elements))
    return fuse() >> top_down(seq(overlapped_tiling_2d(rows, columns), argument(inside(band))))
