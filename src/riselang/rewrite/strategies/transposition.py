"""Transposition of arrays in tiles, the smallest of which are squares that fit registers."""

from __future__ import annotations

from riselang.rewrite.core import Strategy
from riselang.rewrite.rules.algorithmic import transpose_in_tiles
from riselang.rewrite.rules.lowering import map_as_loop, map_unrolled, transpose_in_registers
from riselang.rewrite.traversals import argument, inside


def tile_transpose(rows: int, columns: int, outer: Strategy, inner: Strategy) -> Strategy:
    """Transpose in tiles, with an outer loop over strips of columns and an inner one over tiles."""
    run_tiles = argument(argument(inner))
    return transpose_in_tiles(rows, columns) >> argument(outer >> inside(run_tiles))


def transpose_in_squares(lanes: int, strips: Strategy = map_as_loop) -> Strategy:
    """Transpose in strips of as many columns as a vector has lanes, each unrolled."""
    square = map_unrolled >> inside(transpose_in_registers)
    return tile_transpose(lanes, lanes, strips, square)
