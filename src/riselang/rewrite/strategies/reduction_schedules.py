"""Reductions with several accumulators, for programs that permit reordering sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.nat import Nat, as_nat
from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import (
    halve_reduce,
    interleaved_reduce,
    map_fusion,
    map_of_constant,
    partial_reduce,
    peel_map,
    peel_reduce,
    reduce_parts,
    zip_of_map_first,
)
from riselang.rewrite.rules.functions import (
    fma_as_sum,
    fma_as_sum_f64,
    fma_as_sum_in_any_order,
    fma_as_sum_in_any_order_f64,
    reduce_map_fission,
    reductions_first,
    reductions_first_with,
    sum_as_fma,
    sum_as_fma_f64,
    sum_as_fma_in_any_order,
    sum_as_fma_in_any_order_f64,
)
from riselang.rewrite.rules.lowering import map_unrolled, reduce_unrolled, store_in_registers
from riselang.rewrite.rules.movement import (
    drop_before_map,
    drop_before_zip,
    split_before_map,
    split_before_zip,
    take_before_map,
    take_before_zip,
)
from riselang.rewrite.selectors import innermost, loop
from riselang.rewrite.strategies.epilogues import TIDY, reduction_in
from riselang.rewrite.strategies.matmul_shapes import length_of
from riselang.rewrite.strategies.schedules import fuse, interchange, split, vectorize
from riselang.rewrite.strategies.skinny_matmul import at_reductions
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import (
    argument,
    body,
    everywhere,
    function,
    inside,
    normalize,
    top_down,
)
from riselang.term.nodes import Term

_expose_sum = choice(
    fma_as_sum, fma_as_sum_f64, fma_as_sum_in_any_order, fma_as_sum_in_any_order_f64
)
_form_fma = choice(sum_as_fma, sum_as_fma_f64, sum_as_fma_in_any_order, sum_as_fma_in_any_order_f64)
expose_sums = try_(everywhere(_expose_sum)) >> try_(reduce_map_fission)
_form_fmas = everywhere(_form_fma)
_move_views = choice(
    split_before_map, take_before_map, drop_before_map,
    take_before_zip, drop_before_zip, split_before_zip,
)  # fmt: skip
_interchange_rows = try_(normalize(_move_views)) >> interchange()
_fuse_elements = normalize(choice(zip_of_map_first, map_fusion))
_reduce_lanes = _interchange_rows >> try_(fuse()) >> try_(_fuse_elements) >> try_(_form_fmas)

ROW_ACCUMULATORS = 4
"""The vectors of accumulators of a row that is reduced alone."""

_NEEDS_PERMISSION = (
    'it adds in another order, which requires float="relaxed", or order="any" for the reduction'
)


@schedule
def partial_sums(vectors: int, lanes: int) -> Strategy:
    """Computes a reduction with several vector accumulators, which are reduced at the end."""
    require_positive("partial_sums", vectors=vectors, lanes=lanes)
    return _PartialSums(vectors, lanes)


@dataclass(frozen=True, repr=False)
class _PartialSums(Strategy):
    """Reduces in vectors; the elements that do not fill them are reduced in fewer and shorter
    vectors, and the last few one by one."""

    vectors: int
    lanes: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        if arguments is None or not isinstance(arguments[1].type, ScalarType):
            reason = f"expected a reduction of scalars; top_down({self}) finds one in a program"
            return Failure(self, reason, term)
        assert isinstance(arguments[2].type, ArrayType)
        length, width = arguments[2].type.length, self.vectors * self.lanes
        if length.is_constant and length.constant < width:
            reason = f"the length {length} is less than {width}"
            return Failure(self, reason, term, closeness=CONDITION)
        result = (expose_sums >> self._reduce_parts(length)).run(term, setting)
        has_products = arguments[2].type.element != arguments[1].type
        if isinstance(result, Failure) and has_products and setting.float != "relaxed":
            return Failure(self, _NEEDS_PERMISSION, term, closeness=CONDITION)
        return result

    def _reduce_parts(self, length: Nat) -> Strategy:
        """Reduce the elements that fill the accumulators, and then the others."""
        strategy: Strategy = try_(fuse()) >> try_(_form_fmas)
        for start, end, width in reversed(self._parts(length)):
            part = _reduce_in_vectors(width, min(width, self.lanes))
            if end != length:
                part = seq(
                    reduce_parts(end - start),
                    _at_reduction(end - start, part),
                    _at_reduction(length - end, strategy),
                )
            strategy = part
        return strategy

    def _parts(self, length: Nat) -> list[tuple[Nat, Nat, int]]:
        """Return the start, the end and the number of accumulators of each part of an array."""
        shorter = [self.lanes >> k for k in range(1, self.lanes.bit_length() - 1)]
        widths = [self.vectors * self.lanes, self.lanes, *(shorter if length.is_constant else [])]
        parts: list[tuple[Nat, Nat, int]] = []
        start = as_nat(0)
        for width in dict.fromkeys(widths):
            end = start + (length - start) // width * width
            if end != start:
                parts.append((start, end, width))
            start = end
        return parts

    def __str__(self) -> str:
        return f"partial_sums({self.vectors}, {self.lanes})"


def _at_reduction(length: Nat, strategy: Strategy) -> Strategy:
    """Apply a strategy to the outermost reduction of this length."""

    def has_length(term: Term) -> bool:
        arguments = pattern_arguments(term, "reduce")
        return arguments is not None and length_of(arguments[2].type) == length

    return top_down(Guard(f"it is a reduction of {length} elements", has_length) >> strategy)


def _reduce_in_vectors(width: int, lanes: int) -> Strategy:
    """Reduce with `width` accumulators in vectors, and combine the accumulators."""
    return seq(
        interleaved_reduce(width),
        argument(_reduce_lanes >> vectorize(lanes) @ innermost("reduce")),
        _combine(width, lanes),
    )


def _combine(count: int, lanes: int) -> Strategy:
    """Combine an even number of elements in halves, in vectors; an odd number one by one."""
    if count % 2 or count == 2:
        return try_(argument(argument(store_in_registers))) >> reduce_unrolled
    half = count // 2
    combine_halves = vectorize(gcd(half, lanes)) >> argument(map_unrolled)
    return halve_reduce >> argument(body(argument(try_(combine_halves)) >> _combine(half, lanes)))


@schedule
def sums_of_rows(rows: int, lanes: int) -> Strategy:
    """Reduces `rows` rows of a matrix together, each with one vector of accumulators."""
    require_positive("sums_of_rows", rows=rows, lanes=lanes)
    return at_reductions(_SumsOfRows(rows, lanes))


@dataclass(frozen=True, repr=False)
class _SumsOfRows(Strategy):
    """Interleaves the reductions of several rows; the last rows, which do not fill a group, are
    reduced one by one. The elements of a row that do not fill vectors are added at its end."""

    rows: int
    lanes: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        reduction = None if arguments is None else reduction_in(arguments[0])
        if arguments is None or reduction is None:
            return Failure(self, "expected a map of reductions", term, closeness=CONDITION)
        count, length = (length_of(each.type) for each in (arguments[1], reduction[2]))
        grouped, in_vectors = (
            length // size * size for length, size in ((count, self.rows), (length, self.lanes))
        )
        if in_vectors == length:
            sums = expose_sums >> self._sums_in_vectors()
            strategy = inside(sums) >> split(self.rows) @ loop(1) >> self._interleave() @ loop(2)
        else:
            strategy = seq(
                inside(expose_sums >> reduce_parts(in_vectors)),
                split(self.rows) @ loop(1),
                reductions_first_with @ loop(2),
                argument(function(argument(TIDY >> self._sums_in_registers()))) @ loop(2),
            )
        if grouped != count:
            one_by_one = inside(partial_sums(ROW_ACCUMULATORS, self.lanes))
            strategy = peel_map(grouped) >> function(argument(strategy)) >> argument(one_by_one)
        return strategy.run(term, setting)

    def _sums_in_vectors(self) -> Strategy:
        """Reduce a row of full vectors with one vector of accumulators."""
        return interleaved_reduce(self.lanes) >> argument(_reduce_lanes)

    def _interleave(self) -> Strategy:
        """Interleave the reductions of the rows of a group."""
        interleave = seq(
            try_(everywhere(map_of_constant)),
            interchange(),
            vectorize(self.lanes) @ innermost("reduce"),
        )
        return reductions_first >> argument(interleave)

    def _sums_in_registers(self) -> Strategy:
        """Reduce the full vectors of the rows of a group, and keep the sums in registers."""
        return seq(
            inside(self._sums_in_vectors()),
            self._interleave(),
            inside(_combine(self.lanes, self.lanes)),
            map_unrolled,
            store_in_registers,
        )

    def __str__(self) -> str:
        return f"sums_of_rows({self.rows}, {self.lanes})"


@schedule
def blocked_reduction(blocks: int, vectors: int, lanes: int) -> Strategy:
    """Splits a reduction into blocks, which may run in parallel, each with partial sums."""
    require_positive("blocked_reduction", blocks=blocks)
    return _BlockedReduction(blocks, partial_sums(vectors, lanes), vectors * lanes)


@dataclass(frozen=True, repr=False)
class _BlockedReduction(Strategy):
    """The number of blocks does not depend on the number of threads, so neither do the results."""

    blocks: int
    sums: Strategy
    width: int
    """The number of sums of a block, which divides its length if that is known at run time."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        if arguments is None:
            return Failure(self, "expected a reduction", term)
        assert isinstance(arguments[2].type, ArrayType)
        length = arguments[2].type.length
        least, size = self.blocks, length // self.blocks
        if not length.is_constant:
            least = self.blocks * self.width
            size = length // least * self.width
        if not setting.is_at_least(length, least):
            reason = f"the length {length} is less than {least}"
            if not length.is_constant:
                reason = (
                    f"the length {length} may be less than {least}; "
                    f"by_size('{length}', {least}, {self}, small) applies it to longer arrays"
                )
            return Failure(self, reason, term, closeness=CONDITION)
        reduce_blocks = try_(normalize(_move_views)) >> try_(fuse()) >> inside(self.sums)
        strategy = seq(expose_sums, partial_reduce(size), argument(reduce_blocks))
        if size * self.blocks != length:
            strategy = peel_reduce(size * self.blocks) >> function(argument(strategy))
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"blocked_reduction({self.blocks}, {str(self.sums).removeprefix('partial_sums(')}"
