"""Register tiles for contractions that accumulate into a matrix.

    zip(A, C) |> map(fun(p, zip(B, snd(p)) |> map(fun(q,
      zip(fst(p), fst(q)) |> reduce(f, snd(q))))))

Reductions that start from the elements of a matrix load their registers from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, element_of
from riselang.rewrite.combinators import Guard, Identity, choice, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.rules.accumulate_into import (
    fill_beside,
    has_matrix_beside,
    interchange_beside,
    tile_beside,
)
from riselang.rewrite.rules.movement import pad_before_zip, zip_swapped
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.epilogues import pairs_of_tiles
from riselang.rewrite.strategies.schedules import fill, interchange, simplify, split
from riselang.rewrite.traversals import argument, inside
from riselang.term.nodes import Term

_swapped = zip_swapped >> simplify()
_is_beside = Guard("two arrays are zipped with a matrix", has_matrix_beside)
matrix_second: Strategy = choice(
    _is_beside,
    _swapped >> _is_beside,
    inside(_swapped) >> _is_beside,
    _swapped >> inside(_swapped) >> _is_beside,
)
"""Brings zips into the order of the laws."""


@dataclass(frozen=True, repr=False)
class _FilledColumns(Strategy):
    """Pads the columns; the amount is computed when the number of columns is known."""

    size: int

    def run(self, term: Term, setting: Setting) -> Result:
        row = element_of(term.type)
        if not isinstance(row, ArrayType) or not row.length.is_constant:
            reason = "expected maps with a constant number of columns"
            return Failure(self, reason, term, closeness=CONDITION)
        missing = -row.length.constant % self.size
        return (fill_beside(missing) if missing else Identity()).run(term, setting)

    def __str__(self) -> str:
        return f"filled_columns({self.size})"


def _filled(rows: int, columns: int) -> Strategy:
    """Pad rows and columns to multiples of the tile sizes."""
    above = fill(rows) >> try_(argument(pad_before_zip) @ loop(1))
    return matrix_second >> _FilledColumns(columns) >> above @ loop(1)


def tiles_beside(rows: int, columns: int, block: int) -> Strategy:
    """Tile two nested maps, padded to whole tiles and, in rows, to whole blocks of tiles."""
    return _filled(rows * block, columns) >> tile_beside(rows, columns) @ loop(1)


_swapped_pairs = pairs_of_tiles @ loop(1) >> interchange_beside @ loop(2)
columns_of_block: Strategy = choice(_swapped_pairs, interchange() @ loop(2))
"""In blocks of tiles, makes the loop over the columns the outer one."""


def columns_beside(columns: int) -> Strategy:
    """Tile the columns; the loop over all rows is inside each tile."""
    swapped = interchange_beside @ loop(1)
    return _filled(1, columns) >> swapped >> split(columns) @ loop(1) >> _swapped_pairs
