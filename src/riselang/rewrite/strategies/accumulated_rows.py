"""Sums of arrays that a loop computes: each iteration adds its array to an array of accumulators.

    rows |> map(f) |> transpose |> map(fun(column, column |> reduce(add, 0.0)))

The gradient with respect to what all iterations of a loop read has this form. One loop over the
rows computes it, which stores no row; the order of each sum is that of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from riselang.dialects.rise.types import ArrayType, ScalarType, leaves
from riselang.rewrite.combinators import try_
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import map_of_constant
from riselang.rewrite.rules.lowering import reduce_as_loop
from riselang.rewrite.strategies.epilogues import reduction_in
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


def recognize_row_sums(
    term: Term, setting: Setting, has_kernel: Callable[[Term, Setting], bool]
) -> tuple[str, str, Strategy] | None:
    """Recognize reductions of the columns of computed rows that contain no kernel."""
    rows = pattern_arguments(term, "map")
    depth = _depth_of_reductions(term)
    if rows is None or depth == 0:
        return None
    transposed = pattern_arguments(rows[1], "transpose")
    computed = None if transposed is None else pattern_arguments(transposed[0], "map")
    if computed is None or transposed is None or not has_cost(computed[0]):
        return None
    count = length_of(transposed[0].type)
    lengths = _constant_lengths(term.type)
    if lengths is None or not count.is_constant or count.constant < MIN_ROWS:
        return None
    if lengths[-1] < MIN_COLUMNS or not _pays(transposed[0], count.constant, term):
        return None
    if has_kernel(computed[0], replace(setting, in_loop=True)):
        return None
    rows_text = format_count(count.constant, "computed row")
    axes = " x ".join(map(str, lengths))
    return f"sums of {rows_text} of {axes}", "row by row", accumulated_rows(depth)


def _depth_of_reductions(term: Term) -> int:
    """Return the number of nested maps around reductions of what the innermost one reads."""
    depth = 0
    while (arguments := pattern_arguments(term, "map")) is not None:
        depth += 1
        reduced = reduction_in(arguments[0])
        if reduced is not None:
            is_scalar = isinstance(reduced[1].type, ScalarType)
            return depth if is_scalar and mentions(reduced[2], 0) else 0
        if not isinstance(arguments[0], Lambda):
            return 0
        term = arguments[0].body
    return 0


def _constant_lengths(type: object) -> list[int] | None:
    lengths: list[int] = []
    while isinstance(type, ArrayType):
        if not type.length.is_constant:
            return None
        lengths.append(type.length.constant)
        type = type.element
    return lengths


def _pays(rows: Term, count: int, term: Term) -> bool:
    """Whether the accumulators stay in a cache, and one thread is as fast as several that store
    all rows."""
    machine, (lengths, leaf) = this_machine(), next(leaves(term.type))
    size = bytes_of(leaf)
    for length in lengths:
        size *= length.constant
    if size > machine.cache_bytes(2):
        return False
    if machine.cores == 1:
        return True
    costs, elements = cost(rows), count * size // bytes_of(leaf)
    is_cheap = isinstance(costs.flops, int) and costs.flops <= MAX_OPERATIONS * elements
    is_large = count * size > machine.cores * machine.cache_bytes(3)
    return is_large and is_cheap and costs.transcendentals == 0
