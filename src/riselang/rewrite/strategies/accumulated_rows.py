"""Sums of arrays that a loop computes: each iteration adds its array to an array of accumulators.

    rows |> map(f) |> transpose |> map(fun(column, column |> reduce(add, 0.0)))

The gradient with respect to what all iterations of a loop read has this form. One loop over the
rows computes it, which stores no row; the order of each sum is that of the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import ScalarType, leaves
from riselang.rewrite.combinators import try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import map_of_constant
from riselang.rewrite.rules.lowering import reduce_as_loop
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of
from riselang.rewrite.strategies.schedules import interchange
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import argument, function, inside, normalize
from riselang.support.counts import format_count
from riselang.support.machine import this_machine
from riselang.term.cost import cost
from riselang.term.nodes import Lambda, Term
from riselang.term.substitution import mentions

MIN_ROWS, MIN_COLUMNS = 16, 4
"""The minimum number of rows, and of elements in the last axis of a row."""
MAX_OPERATIONS = 8
"""The maximum number of operations per element of rows that one thread computes: then several
threads that store the rows and read them again are not faster."""


@schedule
def accumulated_rows(depth: int) -> Strategy:
    """Reduces the columns of a matrix in one loop over its rows, without storing a computed row;
    the elements of the matrix are arrays with `depth - 1` axes."""
    require_positive("accumulated_rows", depth=depth)
    strategy = interchange()
    for _ in range(depth - 1):
        strategy = inside(strategy) >> interchange()
    return strategy >> function(argument(try_(normalize(map_of_constant)))) >> reduce_as_loop


@dataclass(frozen=True)
class RowSums:
    """Reductions of the columns of computed rows, each of which is an array with these lengths."""

    rows: Term
    count: int
    lengths: tuple[int, ...]
    type: ScalarType

    @property
    def depth(self) -> int:
        return len(self.lengths)

    @property
    def result_bytes(self) -> int:
        return prod(self.lengths) * bytes_of(self.type)

    def __str__(self) -> str:
        axes = " x ".join(map(str, self.lengths))
        return f"sums of {format_count(self.count, 'computed row')} of {axes}"

    def pays_in_one_loop(self) -> bool:
        """Whether the accumulators stay in a cache, and one thread is as fast as several that store
        all rows."""
        machine = this_machine()
        if self.result_bytes > machine.cache_bytes(2):
            return False
        if machine.cores == 1:
            return True
        costs, elements = cost(self.rows), self.count * prod(self.lengths)
        is_cheap = isinstance(costs.flops, int) and costs.flops <= MAX_OPERATIONS * elements
        is_large = self.count * self.result_bytes > machine.cores * machine.cache_bytes(3)
        return is_large and is_cheap and costs.transcendentals == 0


def match_row_sums(term: Term) -> RowSums | None:
    """Match reductions of the columns of rows that a map computes."""
    outer = pattern_arguments(term, "map")
    transposed = None if outer is None else pattern_arguments(outer[1], "transpose")
    computed = None if transposed is None else pattern_arguments(transposed[0], "map")
    if computed is None or transposed is None or not has_cost(computed[0]):
        return None
    count, depth = length_of(transposed[0].type), _depth_of_reductions(term)
    if depth == 0:
        return None
    ((lengths, type),) = leaves(term.type)
    if not all(each.is_constant for each in lengths):
        return None
    if not count.is_constant or count.constant < MIN_ROWS or lengths[-1].constant < MIN_COLUMNS:
        return None
    sizes = tuple(each.constant for each in lengths)
    return RowSums(transposed[0], count.constant, sizes, type)


def _depth_of_reductions(term: Term) -> int:
    """Return the number of nested maps around reductions of what the innermost one reads."""
    depth = 0
    while (arguments := pattern_arguments(term, "map")) is not None:
        depth += 1
        if not isinstance(arguments[0], Lambda):
            return 0
        term = arguments[0].body
    reduction = pattern_arguments(term, "reduce")
    if reduction is None or not isinstance(reduction[1].type, ScalarType):
        return 0
    return depth if mentions(reduction[2], 0) else 0
