"""Register tiles for matrix multiplications that accumulate into a matrix.

    zip(A, C) |> map(fun(p, zip(B, snd(p)) |> map(fun(q,
      zip(fst(p), fst(q)) |> reduce(f, snd(q))))))

Reductions that start from the elements of a matrix load their registers from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, element_of
from riselang.rewrite.combinators import Guard, choice, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy, Success
from riselang.rewrite.rules.accumulate_into import (
    has_matrix_operand,
    interchange_accumulating,
    pad_accumulating,
    tile_accumulating,
)
from riselang.rewrite.rules.movement import zip_swapped
from riselang.rewrite.rules.tails import pad_accumulating_with_zeros
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.epilogues import tile_pairs
from riselang.rewrite.strategies.schedules import (
    interchange,
    pad_to_multiple,
    padding_to_multiple,
    pads_before_zip,
    simplify,
    split,
)
from riselang.rewrite.traversals import argument, inside
from riselang.term.nodes import Term

_swap = zip_swapped >> simplify()
_has_matrix = Guard("two arrays are zipped with a matrix", has_matrix_operand)
matrix_second: Strategy = choice(
    _has_matrix,
    _swap >> _has_matrix,
    inside(_swap) >> _has_matrix,
    _swap >> inside(_swap) >> _has_matrix,
)
"""Swaps the operands of zips where needed, so that the matrix is the second one, as in the laws."""


@dataclass(frozen=True, repr=False)
class _PadColumns(Strategy):
    """Pads the columns; the amount is computed when the number of columns is known."""

    size: int

    def run(self, term: Term, setting: Setting) -> Result:
        row = element_of(term.type)
        if not isinstance(row, ArrayType):
            return Failure(self, "expected maps that return rows", term, closeness=CONDITION)
        padding = padding_to_multiple(row.length, self.size)
        if padding == 0:
            return Success(term, ())
        is_known = row.length.is_constant and row.length != 0
        pad = pad_accumulating if is_known else pad_accumulating_with_zeros
        return pad(padding).run(term, setting)

    def __str__(self) -> str:
        return f"pad_columns({self.size})"


def _pad_to_tiles(rows: int, columns: int) -> Strategy:
    """Pad rows and columns to multiples of the tile sizes."""
    pad_rows = pad_to_multiple(rows) >> try_(argument(pads_before_zip) @ loop(1))
    return matrix_second >> _PadColumns(columns) >> pad_rows @ loop(1)


def pad_and_tile_with_matrix(rows: int, columns: int, block: int) -> Strategy:
    """Tile two nested maps, padded to full tiles and, in rows, to full blocks of tiles."""
    return _pad_to_tiles(rows * block, columns) >> tile_accumulating(rows, columns) @ loop(1)


_swap_pairs = tile_pairs @ loop(1) >> interchange_accumulating @ loop(2)
columns_of_block: Strategy = choice(_swap_pairs, interchange() @ loop(2))
"""In blocks of tiles, makes the loop over the columns the outer one."""


def tile_columns_with_matrix(columns: int) -> Strategy:
    """Tile the columns; the loop over all rows is inside each tile."""
    interchange_loops = interchange_accumulating @ loop(1)
    return _pad_to_tiles(1, columns) >> interchange_loops >> split(columns) @ loop(1) >> _swap_pairs
