"""Matrix multiplications with few rows, and column reductions: columns are read once, unpacked.

With few rows, each element of the columns is used only a few times, so packing does not pay.
Reading a few complete columns would touch one cache line per row, on many pages. So the loops read
a few rows of all columns, which are contiguous, and then the next few; the accumulators stay in
memory, and are loaded into registers for a tile of columns at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.accumulate_into import (
    initial_values_first,
    peel_reductions,
    reduce_in_chunks,
    start_from_matrix,
)
from riselang.rewrite.rules.algorithmic import peel_reduce
from riselang.rewrite.rules.functions import name_stored, reductions_first, reductions_first_with
from riselang.rewrite.rules.lowering import parallel_as_map, reduce_as_loop, store_on_heap
from riselang.rewrite.rules.movement import reduce_of_zip_swapped
from riselang.rewrite.rules.storing import (
    store_inner_reductions,
    store_inner_reductions_of_firsts,
    store_inner_reductions_of_seconds,
)
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.accumulate_tiles import (
    matrix_second,
    pad_and_tile_with_matrix,
    tile_columns_with_matrix,
)
from riselang.rewrite.strategies.accumulators import tile_columns, vector_accumulators
from riselang.rewrite.strategies.epilogues import TIDY
from riselang.rewrite.strategies.matmul_shapes import length_of, match_product
from riselang.rewrite.strategies.schedules import (
    interchange,
    pad_to_multiple,
    parallel,
    sequential,
    simplify,
    split,
    unroll,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, function, inside, top_down
from riselang.support.errors import UserError
from riselang.term.nodes import Term


@schedule
def streamed_tiles(
    rows: int, columns: int, lanes: int, *, depth: int, share: int, threads: bool = True
) -> Strategy:
    """Computes tiles that add `depth` products at a time, with the accumulators in memory between;
    each thread computes `share` columns at a time."""
    if min(rows, columns, lanes, depth, share) < 1:
        raise UserError("streamed_tiles needs sizes, a depth and a share of 1 or more")
    tiles = seq(
        pad_and_tile_with_matrix(rows, columns, 1),
        vector_accumulators(lanes, False) @ loop(3),
        sequential() @ loop(1),
        sequential() @ loop(2),
    )
    sums = seq(
        try_(matrix_second),
        choice(_from_matrix, inside(inside(_rows_first)) >> _from_matrix),
        _Chunks(depth, tiles),
    )
    if threads:
        shares = choice(tile_columns_with_matrix(share), tile_columns(share))
        sums = shares >> sums @ loop(2) >> parallel() @ loop(1)
    sums = try_(parallel_as_map) >> sums
    stored = (
        choice(
            store_inner_reductions,
            store_inner_reductions_of_firsts,
            store_inner_reductions_of_seconds,
        )
        >> TIDY
    )
    is_sums = Guard("it is a matrix multiplication without an epilogue", _is_bare_product)
    return choice(is_sums >> sums, stored >> top_down(is_sums >> sums))


_rows_first = reduce_of_zip_swapped >> simplify()
_from_matrix = choice(start_from_matrix, initial_values_first)
"""Makes reductions start from the elements of a matrix."""


@schedule
def streamed_reductions(depth: int, *, share: int, threads: bool = True) -> Strategy:
    """Computes the reductions of all elements of a map, `depth` elements at a time; each thread
    computes `share` reductions at a time."""
    if min(depth, share) < 1:
        raise UserError("streamed_reductions needs a depth and a share of 1 or more")
    sums = interchange() >> _Blocks(depth)
    if threads:
        sums = split(share) >> sums @ loop(2) >> parallel() @ loop(1)
    return _at_reductions(sums)


@schedule
def interleaved_reductions(count: int) -> Strategy:
    """Interleaves the reductions of `count` elements of a map in one loop."""
    reductions = pad_to_multiple(count) >> split(count) @ loop(1) >> interchange() @ loop(2)
    return _at_reductions(reductions)


def _at_reductions(strategy: Strategy) -> Strategy:
    """Apply a strategy to a map of reductions; if they have an epilogue, they are stored."""
    stored = TIDY >> strategy >> store_on_heap
    first = reductions_first >> argument(stored)
    first_with = reductions_first_with >> argument(function(argument(stored)))
    return choice(strategy, choice(first, first_with) >> name_stored)


@dataclass(frozen=True, repr=False)
class _Blocks(Strategy):
    """Splits a reduction with an array of accumulators into blocks, in which the loop over the
    accumulators is the outer one; the elements that are left come first."""

    depth: int

    def run(self, term: Term, setting: Setting) -> Result:
        found = pattern_arguments(term, "reduce")
        length = None if found is None else length_of(found[2].type)
        if length is None or not length.is_constant:
            reason = "expected a reduction of constant length"
            return Failure(self, reason, term, closeness=CONDITION)
        depth = min(self.depth, length.constant)
        rest = length.constant % depth
        blocks = seq(
            split(depth),
            interchange() @ loop(2),
            unroll() @ loop(3),
            sequential() @ loop(1),
            sequential() @ loop(2),
        )
        return (peel_reduce(rest) >> blocks if rest else blocks).run(term, setting)

    def __str__(self) -> str:
        return f"blocks({self.depth})"


def _is_bare_product(term: Term) -> bool:
    found = match_product(term)
    return found is not None and found.is_bare


@dataclass(frozen=True, repr=False)
class _Chunks(Strategy):
    """Splits reductions from the elements of a matrix into chunks; the remainder comes first."""

    depth: int
    tiles: Strategy
    """How all reductions process one chunk."""

    def run(self, term: Term, setting: Setting) -> Result:
        found = match_product(term)
        length = None if found is None else length_of(found.pairs.type)
        if length is None or not length.is_constant:
            reason = "expected a contraction of constant length"
            return Failure(self, reason, term, closeness=CONDITION)
        depth = min(self.depth, length.constant)
        rest = length.constant % depth
        chunks = reduce_in_chunks(depth) >> reduce_as_loop >> self.tiles @ loop(2)
        if rest:
            chunks = peel_reductions(rest) >> chunks >> function(argument(self.tiles))
        return chunks.run(term, setting)

    def __str__(self) -> str:
        return f"chunks({self.depth})"
