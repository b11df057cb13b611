"""Convolutions whose weights are products of a weight for the row and one for the column.

Such a convolution is one over the columns after one over the rows: 2 n products for each element in
the place of n squared. It adds in another order, so the program has to permit that.
"""

from __future__ import annotations

from riselang.rewrite.addresses import loop
from riselang.rewrite.combinators import choice
from riselang.rewrite.registry import whole
from riselang.rewrite.rules.algorithmic import (
    separate_convolution,
    separate_convolution_by_columns,
)
from riselang.rewrite.rules.functions import (
    fma_as_sum,
    fma_as_sum_f64,
    reduce_map_fission,
    share_columns,
    share_rows,
    sum_as_fma,
    sum_as_fma_f64,
    swap_operands,
)
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.rules.movement import zip_swapped
from riselang.rewrite.strategies.schedules import fuse, hoist, parallel, simplify
from riselang.rewrite.strategies.stencils import fold_by_rows, stencil
from riselang.rewrite.traversals import argument, everywhere, inside, top_down

_sums = everywhere(choice(fma_as_sum, fma_as_sum_f64)) >> everywhere(reduce_map_fission)
_weights_first = argument(zip_swapped >> simplify() >> inside(swap_operands))
_separate = top_down(separate_convolution | _weights_first >> separate_convolution)
_by_columns = top_down(
    separate_convolution_by_columns | _weights_first >> separate_convolution_by_columns
)
_products = everywhere(choice(sum_as_fma, sum_as_fma_f64))
separated = whole(
    "convolution.separated",
    fuse()
    >> _sums
    >> _separate
    >> top_down(share_rows >> argument(argument(store_on_heap)))
    >> fuse()
    >> _products,
    "A convolution over the columns after one over the rows, which is computed once.",
)
direct = whole(
    "convolution.direct",
    fuse() >> fold_by_rows() >> hoist() >> stencil() @ loop(1),
    "Every window on its own, in vectors, with sums that stay in registers.",
)
by_lines = whole(
    "convolution.by_lines",
    fuse()
    >> _sums
    >> _by_columns
    >> top_down(share_columns)
    >> fuse()
    >> _products
    >> top_down(inside(stencil() >> top_down(stencil() >> store_on_heap)) >> parallel()),
    "A line of sums over columns, and from it a line of the result; in vectors.",
)
