"""Transposition of arrays in tiles, the smallest of which are squares that fit registers."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.rewrite.core import Failure, Result, Setting, Strategy
from riselang.rewrite.rules.algorithmic import peel_transpose, transpose_in_tiles
from riselang.rewrite.rules.lowering import map_as_loop, map_unrolled, transpose_in_registers
from riselang.rewrite.strategies.matmul_shapes import length_of
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, function, inside
from riselang.term.nodes import Term


def tile_transpose(rows: int, columns: int, outer: Strategy, inner: Strategy) -> Strategy:
    """Transpose in tiles, with an outer loop over strips of columns and an inner one over tiles."""
    run_tiles = argument(argument(inner))
    return transpose_in_tiles(rows, columns) >> argument(outer >> inside(run_tiles))


def transpose_in_squares(lanes: int, strips: Strategy = map_as_loop) -> Strategy:
    """Transpose in strips of as many columns as a vector has lanes, each unrolled."""
    square = map_unrolled >> inside(transpose_in_registers)
    return tile_transpose(lanes, lanes, strips, square)


@dataclass(frozen=True, repr=False)
class TransposeMostInSquares(Strategy):
    """Transposes in squares; columns that do not fill a square are copied element by element."""

    size: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "transpose")
        if arguments is None:
            return Failure(self, "expected a transpose", term)
        columns = length_of(term.type)
        in_squares = columns // self.size * self.size
        strategy = transpose_in_squares(self.size)
        if in_squares != columns:
            strategy = peel_transpose(in_squares) >> function(argument(strategy))
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"transpose_most_in_squares({self.size})"
