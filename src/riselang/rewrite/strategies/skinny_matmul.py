"""Matrix multiplications whose left matrix has few rows, and reductions of rows and columns.

If the left matrix has few rows, each element of the right matrix is used only a few times, so
packing does not pay. Reading a few complete columns of the right matrix would touch one cache line
in each of its rows, on many pages. So the loops read a few of its rows completely, which are
contiguous, and then the next few. The accumulators stay in memory, and are loaded into registers
for one tile of columns at a time. Column reductions use the same order of loops. Row reductions
are interleaved, several in one loop, so that their additions overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import AS_SCALAR
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.accumulate_into import (
    initial_values_first,
    peel_reductions,
    reduce_in_chunks,
    start_from_matrix,
)
from riselang.rewrite.rules.algorithmic import peel_map, peel_reduce
from riselang.rewrite.rules.functions import name_stored, reductions_first, reductions_first_with
from riselang.rewrite.rules.lowering import parallel_as_map, reduce_as_loop, store_on_heap
from riselang.rewrite.rules.movement import (
    drop_before_zip,
    reduce_of_zip_swapped,
    take_before_zip,
)
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
    vectorize,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, function, inside, top_down
from riselang.term.nodes import Term, has_pattern

INTERLEAVED = 4
"""The number of reductions that are interleaved if they do not fill a vector."""


@schedule
def streamed_tiles(
    rows: int,
    columns: int,
    lanes: int,
    *,
    depth: int,
    columns_per_thread: int,
    in_parallel: bool = True,
) -> Strategy:
    """Multiplies matrices in register tiles whose accumulators are in memory, and are loaded to add
    `depth` products at a time; each thread computes `columns_per_thread` columns."""
    require_positive(
        "streamed_tiles",
        rows=rows, columns=columns, lanes=lanes, depth=depth, columns_per_thread=columns_per_thread,
    )  # fmt: skip
    accumulate_tiles = _PeelRows(
        tuple(_accumulate_tiles(each, columns, lanes) for each in range(rows, 0, -1))
    )
    multiply_others = streamed_rows(depth, columns_per_thread=columns, in_parallel=False)
    multiply = accumulate_in_chunks(depth, accumulate_tiles)
    multiply = PeelColumns(columns, multiply, multiply_others, multiply)
    if in_parallel:
        split_columns = choice(
            tile_columns_with_matrix(columns_per_thread), tile_columns(columns_per_thread)
        )
        share_columns = split_columns >> multiply @ loop(2) >> parallel() @ loop(1)
        multiply = _ShareColumns(columns_per_thread, share_columns, multiply)
    return before_epilogue(try_(parallel_as_map) >> multiply)


def _accumulate_tiles(rows: int, columns: int, lanes: int) -> Strategy:
    """Add a few products to all sums, in register tiles."""
    return seq(
        pad_and_tile_with_matrix(rows, columns, 1),
        vector_accumulators(lanes, False) @ loop(3),
        sequential() @ loop(1),
        sequential() @ loop(2),
    )


@dataclass(frozen=True, repr=False)
class _PeelRows(Strategy):
    """Computes the rows that fill tiles, and then the others in tiles of fewer rows, if their
    number is known only at run time."""

    tiles: tuple[Strategy, ...]
    """Compute rows in tiles of so many rows, in tiles of one row fewer, and so on."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        length = None if arguments is None else length_of(arguments[1].type)
        if length is None or length.is_constant:
            return self.tiles[0].run(term, setting)
        return self._peel(length, len(self.tiles)).run(term, setting)

    def _peel(self, length: Nat, rows: int) -> Strategy:
        """Compute so many rows in tiles of at most `rows` rows."""
        compute, in_tiles = self.tiles[-rows], length // rows * rows
        if in_tiles == length:
            return compute
        compute_tiles = argument(take_before_zip) >> compute
        compute_others = argument(drop_before_zip) >> self._peel(length - in_tiles, rows - 1)
        return seq(peel_map(in_tiles), function(argument(compute_tiles)), argument(compute_others))

    def __str__(self) -> str:
        return f"peel_rows({', '.join(map(str, self.tiles))})"


@dataclass(frozen=True, repr=False)
class PeelColumns(Strategy):
    """Multiplies by the columns that fill tiles, and then by the others, if their number is known
    only at run time. Padding would add a condition to each load."""

    columns: int
    multiply: Strategy
    """Multiplies by columns that fill tiles, or whose number is known."""
    multiply_others: Strategy
    accumulate: Strategy
    """Multiplies if the sums start from the elements of a matrix."""

    def run(self, term: Term, setting: Setting) -> Result:
        product = match_product(term)
        if product is None:
            return Failure(self, "expected a matrix multiplication", term, closeness=CONDITION)
        length = product.sizes[1]
        in_tiles = length // self.columns * self.columns
        if length.is_constant or in_tiles == length:
            return self.multiply.run(term, setting)
        if product.has_matrix:
            return self.accumulate.run(term, setting)
        multiply_parts = seq(
            function(argument(interchange() >> argument(self.multiply))),
            argument(interchange() >> argument(self.multiply_others)),
        )
        peel = interchange() >> argument(peel_map(in_tiles) >> multiply_parts)
        return peel.run(term, setting)

    def __str__(self) -> str:
        return f"peel_columns({self.columns}, {self.multiply}, {self.multiply_others})"


@dataclass(frozen=True, repr=False)
class _ShareColumns(Strategy):
    """Multiplies by columns in threads, and by those that do not fill a thread's share on one."""

    columns: int
    """The share of a thread."""
    multiply: Strategy
    multiply_others: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        product = match_product(term)
        if product is None:
            return Failure(self, "expected a matrix multiplication", term, closeness=CONDITION)
        length = product.sizes[1]
        in_shares = length // self.columns * self.columns
        if not length.is_constant or in_shares == length or product.has_matrix:
            return self.multiply.run(term, setting)
        multiply_parts = seq(
            function(argument(interchange() >> argument(self.multiply))),
            argument(interchange() >> argument(self.multiply_others)),
        )
        share = interchange() >> argument(peel_map(in_shares.constant) >> multiply_parts)
        return share.run(term, setting)

    def __str__(self) -> str:
        return f"share_columns({self.columns}, {self.multiply}, {self.multiply_others})"


_swap_zip = reduce_of_zip_swapped >> simplify()
_initialize_from_matrix = choice(start_from_matrix, initial_values_first)
"""Makes reductions start from the elements of a matrix."""


def accumulate_in_chunks(
    depth: int, accumulate_chunk: Strategy, first_chunk: Strategy | None = None
) -> Strategy:
    """Add `depth` products at a time to all sums of a matrix multiplication without an epilogue.

    If there is a strategy for the first chunk, this chunk initializes the sums.
    """
    return seq(
        try_(matrix_second),
        choice(_initialize_from_matrix, inside(inside(_swap_zip)) >> _initialize_from_matrix),
        _AccumulateInChunks(depth, accumulate_chunk, first_chunk),
    )


def before_epilogue(multiply: Strategy) -> Strategy:
    """Apply a strategy to a matrix multiplication; if it has an epilogue, store the sums first."""
    store_products = (
        choice(
            store_inner_reductions,
            store_inner_reductions_of_firsts,
            store_inner_reductions_of_seconds,
        )
        >> TIDY
    )
    is_bare = Guard("it is a matrix multiplication without an epilogue", _is_bare_product)
    return choice(is_bare >> multiply, store_products >> top_down(is_bare >> multiply))


@schedule
def streamed_reductions(
    depth: int, *, reductions_per_thread: int, in_parallel: bool = True
) -> Strategy:
    """Computes all reductions of a map together, `depth` elements of each at a time; each thread
    computes `reductions_per_thread` of them."""
    require_positive(
        "streamed_reductions", depth=depth, reductions_per_thread=reductions_per_thread
    )
    reduce = interchange() >> _SplitReduction(depth)
    if in_parallel:
        reduce = _InParallel(reductions_per_thread, reduce)
    return at_reductions(reduce)


@schedule
def streamed_rows(depth: int, *, columns_per_thread: int, in_parallel: bool = True) -> Strategy:
    """Multiplies matrices one row of the left matrix at a time, `depth` products of each sum at a
    time; the right matrix is read row by row."""
    reduce = streamed_reductions(
        depth, reductions_per_thread=columns_per_thread, in_parallel=in_parallel
    )
    return try_(parallel_as_map) >> inside(reduce) >> sequential()


@dataclass(frozen=True, repr=False)
class _InParallel(Strategy):
    """Runs a map in parallel, `size` elements in each iteration; the elements that do not fill an
    iteration follow on one thread."""

    size: int
    compute: Strategy
    """Computes the elements of one iteration."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        if arguments is None:
            return Failure(self, "expected a map", term)
        length = length_of(arguments[1].type)
        split_length = length // self.size * self.size
        strategy = split(self.size) >> self.compute @ loop(2) >> parallel() @ loop(1)
        if split_length != length:
            compute_remainder = argument(self.compute)
            strategy = peel_map(split_length) >> function(argument(strategy)) >> compute_remainder
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"in_parallel({self.size}, {self.compute})"


@schedule
def interleaved_reductions(count: int) -> Strategy:
    """Interleaves the reductions of `count` elements of a map in one loop."""
    require_positive("interleaved_reductions", count=count)
    return at_reductions(_Interleave(count))


@dataclass(frozen=True, repr=False)
class _Interleave(Strategy):
    """Interleaves reductions. If their number is known, the last group is padded; if not, the
    reductions that do not fill a group follow one by one."""

    count: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        if arguments is None:
            return Failure(self, "expected a map", term)
        length = length_of(arguments[1].type)
        interleave = split(self.count) @ loop(1) >> interchange() @ loop(2)
        if length.is_constant:
            return (pad_to_multiple(self.count) >> interleave).run(term, setting)
        split_length = length // self.count * self.count
        return (peel_map(split_length) >> function(argument(interleave))).run(term, setting)

    def __str__(self) -> str:
        return f"interleave({self.count})"


@schedule
def reductions_in_lanes(lanes: int, vectors: int, depth: int) -> Strategy:
    """Computes `vectors * lanes` reductions of a map at a time, each in one lane, `depth` elements
    of each in one iteration; the reductions that are left are interleaved."""
    require_positive("reductions_in_lanes", lanes=lanes, vectors=vectors, depth=depth)
    return at_reductions(_ReductionsInLanes(lanes, vectors, depth))


@dataclass(frozen=True, repr=False)
class _ReductionsInLanes(Strategy):
    """Vectorizes across the elements of a map of reductions."""

    lanes: int
    vectors: int
    depth: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        length = None if arguments is None else length_of(arguments[1].type)
        group = self.lanes * self.vectors
        if length is None or (length.is_constant and length.constant < group):
            reason = f"expected a map over {group} elements or more"
            return Failure(self, reason, term, closeness=CONDITION)
        strategy = seq(
            split(group) @ loop(1),
            interchange() @ loop(2),
            vectorize(self.lanes) @ loop(2),
            Guard("its function works on vectors", _reduces_vectors) @ loop(2),
            _UnrollReduction(self.depth) @ loop(2),
        )
        split_length = length // group * group
        if split_length != length:
            strategy = seq(
                peel_map(split_length),
                function(argument(strategy)),
                argument(try_(_Interleave(INTERLEAVED))),
            )
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"reductions_in_lanes({self.lanes}, {self.vectors}, {self.depth})"


@dataclass(frozen=True, repr=False)
class _UnrollReduction(Strategy):
    """Unrolls a reduction by a factor; the elements that are left come last."""

    factor: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        length = None if arguments is None else length_of(arguments[2].type)
        if length is None or (length.is_constant and length.constant < self.factor):
            reason = f"expected a reduction of {self.factor} elements or more"
            return Failure(self, reason, term, closeness=CONDITION)
        strategy = split(self.factor) >> unroll() @ loop(2)
        split_length = length // self.factor * self.factor
        if split_length != length:
            strategy = peel_reduce(split_length) >> function(argument(strategy))
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"unroll_reduction({self.factor})"


def _reduces_vectors(term: Term) -> bool:
    """Whether a reduction with vector accumulators does not convert them to scalars."""
    arguments = pattern_arguments(term, "reduce")
    return arguments is not None and not has_pattern(arguments[0], AS_SCALAR.name)


def at_reductions(strategy: Strategy) -> Strategy:
    """Apply a strategy to a map of reductions; if they have an epilogue, they are stored."""
    store_reductions = TIDY >> strategy >> store_on_heap
    separate_epilogue = choice(
        reductions_first >> argument(store_reductions),
        reductions_first_with >> argument(function(argument(store_reductions))),
    )
    return choice(strategy, separate_epilogue >> name_stored)


@dataclass(frozen=True, repr=False)
class _SplitReduction(Strategy):
    """Splits a reduction with an array of accumulators into blocks. In each block, the loop over
    the accumulators is the outer one; the elements that do not fill a block come first."""

    depth: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        length = None if arguments is None else length_of(arguments[2].type)
        if length is None:
            return Failure(self, "expected a reduction", term, closeness=CONDITION)
        depth = min(self.depth, length.constant) if length.is_constant else self.depth
        remainder = length - length // depth * depth
        reduce_blocks = seq(
            split(depth),
            interchange() @ loop(2),
            unroll() @ loop(3),
            sequential() @ loop(1),
            sequential() @ loop(2),
        )
        strategy = reduce_blocks if remainder == 0 else peel_reduce(remainder) >> reduce_blocks
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"split_reduction({self.depth})"


def _is_bare_product(term: Term) -> bool:
    product = match_product(term)
    return product is not None and product.is_bare


@dataclass(frozen=True, repr=False)
class _AccumulateInChunks(Strategy):
    """Splits reductions that start from the elements of a matrix into chunks of `depth` products;
    the products that do not fill a chunk come first."""

    depth: int
    accumulate_chunk: Strategy
    """Adds the products of one chunk to all accumulators."""
    first_chunk: Strategy | None
    """Adds the products of the first chunk; if it is None, chunks of equal size are one loop."""

    def run(self, term: Term, setting: Setting) -> Result:
        product = match_product(term)
        length = None if product is None else length_of(product.pairs.type)
        if length is None:
            return Failure(self, "expected a matrix multiplication", term, closeness=CONDITION)
        if not length.is_constant:
            return self._accumulate_symbolic(length).run(term, setting)
        depth = min(self.depth, length.constant)
        first_depth = length.constant % depth or (0 if self.first_chunk is None else depth)
        if first_depth == length.constant and self.first_chunk is not None:
            return self.first_chunk.run(term, setting)
        strategy = reduce_in_chunks(depth) >> reduce_as_loop >> self.accumulate_chunk @ loop(2)
        if first_depth:
            accumulate_first = function(argument(self.first_chunk or self.accumulate_chunk))
            peel = peel_reductions(first_depth) >> simplify()
            strategy = peel >> strategy >> accumulate_first
        return strategy.run(term, setting)

    def _accumulate_symbolic(self, length: Nat) -> Strategy:
        """Return the strategy for a number of products that is known only at run time."""
        strategy = reduce_in_chunks(self.depth) >> reduce_as_loop >> self.accumulate_chunk @ loop(2)
        remainder = length - length // self.depth * self.depth
        if remainder == 0:
            return strategy
        accumulate_remainder = function(argument(self.accumulate_chunk))
        return peel_reductions(remainder) >> simplify() >> strategy >> accumulate_remainder

    def __str__(self) -> str:
        return f"accumulate_in_chunks({self.depth})"
