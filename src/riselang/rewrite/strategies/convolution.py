"""Separable convolutions: each weight is the product of a row weight and a column weight.

Such a convolution can be computed as a convolution over the rows followed by one over the columns:
2 n products for each element instead of n squared. The order of the sums changes, so the program
has to permit that.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, leaves
from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import program_strategy, schedule
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
"""The number of vectors of a line that are computed together, and share elements of windows in
registers."""

_expose_sums = everywhere(choice(fma_as_sum, fma_as_sum_f64)) >> everywhere(reduce_map_fission)
_swap_weights = argument(zip_swapped >> simplify() >> inside(swap_operands))
_separate = top_down(separate_convolution | _swap_weights >> separate_convolution)
_separate_by_columns = top_down(
    separate_convolution_by_columns | _swap_weights >> separate_convolution_by_columns
)
_form_fmas = everywhere(choice(sum_as_fma, sum_as_fma_f64))
separate_sum = seq(
    _expose_sums,
    separate_convolution | _swap_weights >> separate_convolution,
    fuse(),
    _form_fmas,
)
"""Turns a sum over a window into a sum of sums over its rows."""
separated = program_strategy(
    "convolution.separated",
    fuse()
    >> _expose_sums
    >> _separate
    >> top_down(share_rows >> argument(argument(store_on_heap)))
    >> fuse()
    >> _form_fmas,
    "Convolves along the rows, stores the result, and convolves along the columns.",
)
direct = program_strategy(
    "convolution.direct",
    fuse() >> reduce_by_rows() >> hoist() >> stencil() @ loop(1),
    "Computes each window separately, vectorized, with accumulators in registers.",
)


@dataclass(frozen=True, repr=False)
class _Bands(Strategy):
    """Computes a map over windows of rows in bands; the remaining rows are computed separately.

    Without a number of rows, bands have 4 if the rows of a window do not stay in the L1 cache."""

    rows: int = 0
    vectors: int = 0
    """The number of vectors of column sums that are computed together."""
    line_vectors: int = LINE_VECTORS

    def run(self, term: Term, setting: Setting) -> Result:
        shape = _shape_of_windows(term)
        if shape is None:
            reason = "expected windows of rows, of known lengths"
            return Failure(self, reason, term, closeness=CONDITION)
        count, height, bytes = shape
        rows = self.rows or BAND_ROWS
        stays_in_cache = height < rows or height * bytes <= this_machine().cache_bytes(1)
        if rows == 1 or (stays_in_cache and not self.rows):
            reason = f"{height} rows of {bytes} bytes are few, or stay in the L1 cache"
            return Failure(self, reason, term, closeness=CONDITION)
        remainder = count % rows
        run_bands = overlapped_tiling(rows) >> argument(inside(self._band(rows)) >> parallel())
        if remainder == 0:
            return run_bands.run(term, setting)
        return seq(
            peel_map(count - remainder),
            function(argument(argument(take_before_slide) >> run_bands)),
            argument(argument(drop_before_slide) >> inside(_compute_line()) >> sequential()),
        ).run(term, setting)

    def _band(self, rows: int) -> Strategy:
        return seq(
            map_fission,
            argument(map_fission),
            map_fusion,
            argument(_BandSums(rows, self.vectors) >> store_on_heap),
            inside(LineInVectors(self.line_vectors)),
            sequential(),
        )

    def __str__(self) -> str:
        return "bands"


@dataclass(frozen=True, repr=False)
class _BandSums(Strategy):
    """Computes column sums of all rows of a band together, in registers; peels the last columns."""

    rows: int
    vectors: int = 0

    def run(self, term: Term, setting: Setting) -> Result:
        nest, line = match_scalar_nest(term), loop_at(term, 2)
        if nest is None or line is None or not isinstance(line.type, ArrayType):
            reason = "expected rows of sums, of known lengths"
            return Failure(self, reason, term, closeness=CONDITION)
        lanes, max_vectors = block_shape(nest.element, this_machine())
        vectors = self.vectors or max(1, max_vectors // self.rows)
        columns = line.type.length
        blocked_columns = columns // (lanes * vectors) * (lanes * vectors)
        run_blocks = seq(
            vectorize(lanes) @ loop(2), split(vectors) @ loop(2), reorder(2, 1, 3),
            interchange() @ loop(3), interchange() @ loop(2),
            sequential() @ loop(1), unroll() @ loop(2),
        )  # fmt: skip
        if blocked_columns == columns:
            return run_blocks.run(term, setting)
        peel_columns = seq(
            peel_map(blocked_columns),
            function(argument(interchange() >> argument(run_blocks))),
            argument(sequential()),
        )
        return (interchange() >> argument(peel_columns)).run(term, setting)

    def __str__(self) -> str:
        return "band_sums"


def _shape_of_windows(term: Term) -> tuple[int, int, int] | None:
    """Return the number of windows of a map, the rows of each, and the bytes of a row."""
    arguments = pattern_arguments(term, "map")
    parts = [] if arguments is None else list(leaves(arguments[1].type))
    if len(parts) != 1 or len(parts[0][0]) != 3:
        return None
    ((lengths, scalar),) = parts
    if not all(length.is_constant for length in lengths):
        return None
    rows, height, columns = (length.constant for length in lengths)
    return rows, height, columns * bytes_of(scalar)


def _compute_line(vectors: int = 0) -> Strategy:
    line = LineInVectors(vectors or None)
    return line >> top_down(line >> store_on_heap)


@schedule
def sums_by_lines(
    *, band_rows: int = 0, vectors: int = 0, line_vectors: int = LINE_VECTORS
) -> Strategy:
    """Computes a separable convolution a few rows of column sums at a time, and from each a row.

    A band has `band_rows` rows, whose sums are computed `vectors` vectors at a time, and results
    `line_vectors` vectors at a time. Numbers that are 0 are chosen for the machine."""
    lines = inside(_compute_line(vectors)) >> parallel()
    return seq(
        fuse(),
        _expose_sums,
        _separate_by_columns,
        top_down(share_columns),
        fuse(),
        _form_fmas,
        top_down(choice(_Bands(band_rows, vectors, line_vectors), lines)),
    )


by_lines = program_strategy(
    "convolution.by_lines",
    sums_by_lines(),
    "Computes a few vectorized rows of column sums at a time, and from each a result row.",
)
