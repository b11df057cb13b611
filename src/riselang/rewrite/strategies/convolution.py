"""Separable convolutions: each weight is the product of a row weight and a column weight.

Such a convolution is one over the columns after one over the rows: 2 n products for each element
instead of n squared. It changes the order of sums, so the program has to permit that.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, leaves
from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import program_strategy
from riselang.rewrite.rules.algorithmic import (
    map_fusion,
    overlapped_tiling,
    peel_map,
    separate_convolution,
    separate_convolution_by_columns,
)
from riselang.rewrite.rules.functions import (
    fma_as_sum,
    fma_as_sum_f64,
    map_fission,
    reduce_map_fission,
    share_columns,
    share_rows,
    sum_as_fma,
    sum_as_fma_f64,
    swap_operands,
)
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.rules.movement import (
    drop_before_slide,
    take_before_slide,
    zip_swapped,
)
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.schedules import (
    fuse,
    hoist,
    interchange,
    parallel,
    reorder,
    sequential,
    simplify,
    split,
    unroll,
    vectorize,
)
from riselang.rewrite.strategies.stencils import (
    LineInVectors,
    block_shape,
    loop_at,
    match_scalar_nest,
    reduce_by_rows,
    stencil,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, everywhere, function, inside, top_down
from riselang.support.machine import this_machine
from riselang.term.nodes import Term

BAND_ROWS = 4
"""Rows of the result that are computed together if the rows of a window do not stay in the L1
cache: each row is loaded once for all of them."""
LINE_VECTORS = 4
"""Vectors of a line that are computed together: they share elements of windows in registers."""

_sums = everywhere(choice(fma_as_sum, fma_as_sum_f64)) >> everywhere(reduce_map_fission)
_weights_first = argument(zip_swapped >> simplify() >> inside(swap_operands))
_separate = top_down(separate_convolution | _weights_first >> separate_convolution)
_by_columns = top_down(
    separate_convolution_by_columns | _weights_first >> separate_convolution_by_columns
)
_products = everywhere(choice(sum_as_fma, sum_as_fma_f64))
separated = program_strategy(
    "convolution.separated",
    fuse()
    >> _sums
    >> _separate
    >> top_down(share_rows >> argument(argument(store_on_heap)))
    >> fuse()
    >> _products,
    "Convolves along the rows, stores the result, and convolves along the columns.",
)
direct = program_strategy(
    "convolution.direct",
    fuse() >> reduce_by_rows() >> hoist() >> stencil() @ loop(1),
    "Computes each window separately, vectorized, with accumulators in registers.",
)


@dataclass(frozen=True, repr=False)
class _Bands(Strategy):
    """Computes a map over windows of rows in bands; the remaining rows are computed separately."""

    def run(self, term: Term, setting: Setting) -> Result:
        shape = _shape_of_windows(term)
        if shape is None:
            reason = "expected windows of rows, of known lengths"
            return Failure(self, reason, term, closeness=CONDITION)
        rows, height, bytes = shape
        if height < BAND_ROWS or height * bytes <= this_machine().cache_bytes(1):
            reason = f"{height} rows of {bytes} bytes are few, or stay in the L1 cache"
            return Failure(self, reason, term, closeness=CONDITION)
        rest = rows % BAND_ROWS
        bands = overlapped_tiling(BAND_ROWS) >> argument(inside(_band) >> parallel())
        if rest == 0:
            return bands.run(term, setting)
        return seq(
            peel_map(rows - rest),
            function(argument(argument(take_before_slide) >> bands)),
            argument(argument(drop_before_slide) >> inside(_line) >> sequential()),
        ).run(term, setting)

    def __str__(self) -> str:
        return "bands"


@dataclass(frozen=True, repr=False)
class _BandSums(Strategy):
    """Computes column sums of all rows of a band together, in registers; peels the last columns."""

    def run(self, term: Term, setting: Setting) -> Result:
        nest, line = match_scalar_nest(term), loop_at(term, 2)
        if nest is None or line is None or not isinstance(line.type, ArrayType):
            reason = "expected rows of sums, of known lengths"
            return Failure(self, reason, term, closeness=CONDITION)
        lanes, most = block_shape(nest.element, this_machine())
        vectors = most // BAND_ROWS
        columns = line.type.length.constant
        rest = columns % (lanes * vectors)
        blocks = seq(
            vectorize(lanes) @ loop(2), split(vectors) @ loop(2), reorder(2, 1, 3),
            interchange() @ loop(3), interchange() @ loop(2),
            sequential() @ loop(1), unroll() @ loop(2),
        )  # fmt: skip
        if rest == 0:
            return blocks.run(term, setting)
        peeled = seq(
            peel_map(columns - rest),
            function(argument(interchange() >> argument(blocks))),
            argument(sequential()),
        )
        return (interchange() >> argument(peeled)).run(term, setting)

    def __str__(self) -> str:
        return "sums_of_band"


def _shape_of_windows(term: Term) -> tuple[int, int, int] | None:
    """For a map over windows of rows: their number, the rows of each, and the bytes of a row."""
    found = pattern_arguments(term, "map")
    parts = [] if found is None else list(leaves(found[1].type))
    if len(parts) != 1 or len(parts[0][0]) != 3:
        return None
    ((lengths, scalar),) = parts
    if not all(length.is_constant for length in lengths):
        return None
    rows, height, columns = (length.constant for length in lengths)
    return rows, height, columns * bytes_of(scalar)


_line = LineInVectors() >> top_down(LineInVectors() >> store_on_heap)
_band = seq(
    map_fission,
    argument(map_fission),
    map_fusion,
    argument(_BandSums() >> store_on_heap),
    inside(LineInVectors(LINE_VECTORS)),
    sequential(),
)
by_lines = program_strategy(
    "convolution.by_lines",
    fuse()
    >> _sums
    >> _by_columns
    >> top_down(share_columns)
    >> fuse()
    >> _products
    >> top_down(choice(_Bands(), inside(_line) >> parallel())),
    "Computes a few vectorized rows of column sums at a time, and from each a result row.",
)
