"""Functions along an axis: padding, clipping, sorting, running sums, and elements by position."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from riselang.dialects.rise.types import i1, i64, is_float
from riselang.dsl import array_prelude, patterns
from riselang.dsl.arrays.broadcasting import broadcast_to, map_elements
from riselang.dsl.arrays.layout import flatten, move_axis
from riselang.dsl.arrays.shapes import (
    as_array,
    element_type,
    literal_of,
    map_at,
    normalize_axis,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.indexing import as_indices
from riselang.dsl.pattern_functions import scalar_function
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, as_node, convert, map_arrays, promote_operands
from riselang.dsl.tracing import value_text
from riselang.nat import Nat

MAX, MIN = scalar_function("max"), scalar_function("min")
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def along_axis(name: str, function: Callable[[Any], Any], x: Any, axis: Any) -> Value:
    """Apply a function on arrays of one dimension along an axis; None flattens the array."""
    x = as_array(name, x)
    if axis is None:
        return function(flatten(x))
    rank = rank_of(x)
    number = normalize_axis(name, axis, rank)
    result = map_at(rank - 1, function, move_axis(x, number, rank - 1))
    return move_axis(result, rank - 1, number)


def clip(x: Any, low: Any = None, high: Any = None) -> Value:
    """Limit the elements to the range from `low` to `high`; None does not limit them."""
    if low is not None:
        x = map_arrays("clip", partial(_limit, MAX), (x, low))
    return x if high is None else map_arrays("clip", partial(_limit, MIN), (x, high))


def _limit(function: Callable[..., Value], x: Any, limit: Any) -> Value:
    return function(*promote_operands("clip", x, limit))


def take_along(x: Any, indices: Any, axis: int = -1) -> Value:
    """Select elements along an axis by an array of positions for each of the other positions."""
    x, indices = as_array("take_along", x), as_array("take_along", indices)
    rank = rank_of(x)
    if rank_of(indices) != rank:
        refuse(f"take_along: the array has {rank} dimensions, but the indices have "
               f"{rank_of(indices)}")  # fmt: skip
    number = normalize_axis("take_along", axis, rank)
    length = shape_of(x)[number]
    operands = [move_axis(each, number, rank - 1) for each in (x, indices)]
    result = map_elements(
        "take_along",
        lambda row, positions: patterns.gather(as_indices(positions, length), row),
        operands,
        (1, 1),
    )
    return move_axis(result, rank - 1, number)


def pad(x: Any, width: Any, mode: str = "constant", constant_values: Any = 0) -> Value:
    """Add elements before and after an array along each axis.

    `width` is a number, a pair (before, after), or a pair for each axis.
    """
    x = as_array("pad", x)
    if mode not in MODES:
        refuse(f"pad: the mode must be one of {', '.join(MODES)}, but is {mode!r}")
    for axis, widths in enumerate(_widths(width, rank_of(x))):
        x = map_at(axis, partial(_pad_first, widths, mode, constant_values), x)
    return x


def _widths(width: Any, rank: int) -> list[tuple[Nat, Nat]]:
    pairs = width if isinstance(width, tuple | list) else (width, width)
    if not any(isinstance(each, tuple | list) for each in pairs):
        pairs = [pairs]
    if len(pairs) == 1:
        pairs = [*pairs] * rank
    sizes = [tuple(as_size(each, "pad") for each in pair) for pair in pairs]
    if len(sizes) != rank or any(len(pair) != 2 for pair in sizes):
        found = value_text(width)
        refuse(f"pad: expected a number, a pair, or {rank} pairs of numbers, but found {found}")
    return [(pair[0], pair[1]) for pair in sizes]


def _pad_first(widths: tuple[Nat, Nat], mode: str, value: Any, x: Value) -> Value:
    before, after = widths
    if before == 0 and after == 0:
        return x
    if mode == "constant":
        number = value if isinstance(value, Value) else Value(as_node(value, element_type(x)))
        return patterns.pad_const(before, after, broadcast_to("pad", number, shape_of(x)[1:]), x)
    if mode == "symmetric":
        end = patterns.take(after, patterns.reverse(x))
        start = patterns.reverse(patterns.take(before, x))
        return patterns.concat(patterns.concat(start, x), end)
    function = {"edge": patterns.pad, "reflect": patterns.pad_reflect, "wrap": patterns.pad_wrap}
    return function[mode](before, after, x)


def sort(x: Any, axis: Any = -1, descending: bool = False) -> Value:
    """Sort an array along an axis, stably; NaN is greatest."""
    return along_axis("sort", patterns.sort(_order(descending)), x, axis)


def argsort(x: Any, axis: Any = -1, descending: bool = False) -> Value:
    """Return the positions that sort an array along an axis, stably; NaN is greatest."""
    precedes = _order(descending)

    def sort_positions(row: Value) -> Value:
        pairs = patterns.zip(row, patterns.generate(lambda i: convert(patterns.from_idx(i), i64)))
        return patterns.map(patterns.snd, patterns.sort(lambda p, q: precedes(p.fst, q.fst), pairs))

    return along_axis("argsort", sort_positions, x, axis)


def _order(descending: bool) -> Callable[[Value, Value], Value]:
    """Return the function that decides whether its first argument comes before its second."""

    def precedes(a: Value, b: Value) -> Value:
        if a.type == i1:
            return a & ~b if descending else ~a & b
        if not is_float(a.type):
            return a > b if descending else a < b
        return ~(a <= b) & (b == b) if descending else ~(a >= b) & (a == a)

    return precedes


def cumsum(x: Any, axis: Any = None) -> Value:
    """Return the sums of the first 1, 2, ... elements along an axis."""
    return along_axis("cumsum", array_prelude.cumsum, x, axis)


def cumprod(x: Any, axis: Any = None) -> Value:
    """Return the products of the first 1, 2, ... elements along an axis."""
    multiply = scalar_function("mult")
    start = literal_of(1, element_type(as_array("cumprod", x)))
    return along_axis("cumprod", patterns.scan(multiply, start), x, axis)
