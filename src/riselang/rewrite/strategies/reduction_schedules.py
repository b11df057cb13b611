"""Reductions with several accumulators, for programs that permit reordering sums."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.combinators import choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import (
    interleaved_reduce,
    map_fusion,
    partial_reduce,
    peel_reduce,
    zip_of_map_first,
)
from riselang.rewrite.rules.functions import (
    fma_as_sum,
    fma_as_sum_f64,
    fma_as_sum_in_any_order,
    fma_as_sum_in_any_order_f64,
    reduce_map_fission,
    sum_as_fma,
    sum_as_fma_f64,
    sum_as_fma_in_any_order,
    sum_as_fma_in_any_order_f64,
)
from riselang.rewrite.rules.lowering import reduce_unrolled, store_in_registers
from riselang.rewrite.rules.movement import (
    split_before_map,
    split_before_zip,
    take_before_map,
    take_before_zip,
)
from riselang.rewrite.selectors import innermost, outermost
from riselang.rewrite.strategies.schedules import fuse, interchange, simplify, vectorize
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, everywhere, function, inside, normalize
from riselang.term.nodes import Term

_expose_sum = choice(
    fma_as_sum, fma_as_sum_f64, fma_as_sum_in_any_order, fma_as_sum_in_any_order_f64
)
_form_fma = choice(sum_as_fma, sum_as_fma_f64, sum_as_fma_in_any_order, sum_as_fma_in_any_order_f64)
expose_sums = try_(everywhere(_expose_sum)) >> try_(reduce_map_fission)
_form_fmas = everywhere(_form_fma)
_move_views = choice(split_before_map, take_before_map, take_before_zip, split_before_zip)
_interchange_rows = try_(normalize(_move_views)) >> interchange()
_fuse_elements = normalize(choice(zip_of_map_first, map_fusion))


@schedule
def partial_sums(vectors: int, lanes: int) -> Strategy:
    """Computes a reduction with several vector accumulators, which are reduced at the end."""
    require_positive("partial_sums", vectors=vectors, lanes=lanes)
    return _PartialSums(vectors, lanes)


@dataclass(frozen=True, repr=False)
class _PartialSums(Strategy):
    """Reduces in vectors; the elements that do not fill them are added one by one at the end."""

    vectors: int
    lanes: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        if arguments is None or not isinstance(arguments[1].type, ScalarType):
            return Failure(self, "expected a reduction of scalars", term)
        assert isinstance(arguments[2].type, ArrayType)
        length, width = arguments[2].type.length, self.vectors * self.lanes
        if length.is_constant and length.constant < width:
            reason = f"the length {length} is less than {width}"
            return Failure(self, reason, term, closeness=CONDITION)
        vectorized_length = length // width * width
        strategy = self._reduce_in_vectors()
        if vectorized_length != length:
            strategy = peel_reduce(vectorized_length) >> function(argument(strategy))
        return strategy.run(term, setting)

    def _reduce_in_vectors(self) -> Strategy:
        reduce_parts = _interchange_rows >> try_(fuse()) >> try_(_fuse_elements) >> try_(_form_fmas)
        vectorize_accumulators = vectorize(self.lanes) @ innermost("reduce")
        return seq(
            expose_sums, interleaved_reduce(self.vectors * self.lanes),
            argument(reduce_parts >> vectorize_accumulators),
            self._reduce_vectors() if self.vectors > 1 else argument(argument(store_in_registers)),
            reduce_unrolled,
        )  # fmt: skip

    def _reduce_vectors(self) -> Strategy:
        """Reduce vectors in registers to one vector, and that to a scalar."""
        reduce_to_vector = (
            interchange() >> try_(simplify()) >> vectorize(self.lanes) @ outermost("reduce")
        )
        return seq(
            argument(argument(store_in_registers)), interleaved_reduce(self.lanes),
            argument(reduce_to_vector >> argument(reduce_unrolled >> store_in_registers)),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"partial_sums({self.vectors}, {self.lanes})"


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
        if length.is_constant and length.constant < self.blocks:
            reason = f"the length {length} is less than {self.blocks}"
            return Failure(self, reason, term, closeness=CONDITION)
        size = length // self.blocks
        if not length.is_constant:
            size = length // (self.blocks * self.width) * self.width
        reduce_blocks = try_(normalize(_move_views)) >> try_(fuse()) >> inside(self.sums)
        strategy = seq(expose_sums, partial_reduce(size), argument(reduce_blocks))
        if size * self.blocks != length:
            strategy = peel_reduce(size * self.blocks) >> function(argument(strategy))
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"blocked_reduction({self.blocks}, {str(self.sums).removeprefix('partial_sums(')}"
