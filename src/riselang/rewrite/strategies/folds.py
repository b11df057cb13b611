"""Folds in several sums at a time, where the program permits sums in another order."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.errors import UserError
from riselang.rewrite.addresses import innermost
from riselang.rewrite.combinators import choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import (
    interleaved_reduce,
    map_fusion,
    peel_reduce,
    zip_of_map_first,
)
from riselang.rewrite.rules.functions import (
    fma_as_sum,
    fma_as_sum_f64,
    reduce_map_fission,
    sum_as_fma,
    sum_as_fma_f64,
)
from riselang.rewrite.rules.movement import (
    split_before_map,
    split_before_zip,
    take_before_map,
    take_before_zip,
)
from riselang.rewrite.strategies.schedules import fuse, interchange, vectorize
from riselang.rewrite.terms import applied
from riselang.rewrite.traversals import argument, everywhere, function, normalize
from riselang.term.nodes import Term

_sums = try_(everywhere(choice(fma_as_sum, fma_as_sum_f64))) >> try_(reduce_map_fission)
_products = everywhere(choice(sum_as_fma, sum_as_fma_f64))
_of_parts = choice(split_before_map, take_before_map, take_before_zip, split_before_zip)
_rows = try_(normalize(_of_parts)) >> interchange()
_elements = normalize(choice(zip_of_map_first, map_fusion))


@schedule
def partial_sums(vectors: int, lanes: int) -> Strategy:
    """A fold as so many vectors of folds at a time, which are folded in the end."""
    if vectors < 1 or lanes < 1:
        raise UserError("partial_sums needs numbers of vectors and lanes of 1 or more")
    return _PartialSums(vectors, lanes)


@dataclass(frozen=True, repr=False)
class _PartialSums(Strategy):
    """What is left over when they do not divide the length is added in the end, one by one."""

    vectors: int
    lanes: int

    def run(self, term: Term, setting: Setting) -> Result:
        found = applied(term, "reduce")
        if found is None or not isinstance(found[1].type, ScalarType):
            return Failure(self, "expected a fold of scalars", term)
        assert isinstance(found[2].type, ArrayType)
        length, width = found[2].type.length, self.vectors * self.lanes
        if not length.is_constant or length.constant < width:
            reason = f"the length {length} is not known to be {width} or more"
            return Failure(self, reason, term, closeness=CONDITION)
        whole = length.constant // width * width
        strategy = self._of_whole()
        if whole < length.constant:
            strategy = peel_reduce(whole) >> function(argument(strategy))
        return strategy.run(term, setting)

    def _of_whole(self) -> Strategy:
        inner = _rows >> try_(fuse()) >> try_(_elements) >> try_(_products)
        in_vectors = vectorize(self.lanes) @ innermost("reduce")
        return seq(
            _sums, interleaved_reduce(self.vectors * self.lanes), argument(inner >> in_vectors)
        )

    def __str__(self) -> str:
        return f"partial_sums({self.vectors}, {self.lanes})"
