"""Functions on arrays that are composed of patterns: selection, sums and histograms.

As in NumPy, NaN is both the maximum and the minimum of an array that contains it, and an array in
ascending order has NaN at the end. Indices and counts are i64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.dialects.rise.types import (
    ArrayType,
    ScalarType,
    i1,
    i8,
    i64,
    integer_range,
    is_float,
)
from riselang.dsl.captures import is_array_like
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import helper
from riselang.dsl.patterns import (
    clamp_idx,
    from_idx,
    generate,
    map,
    reduce,
    scan,
    scatter_with,
    snd,
    sort,
    take,
    unzip,
    zip,
)
from riselang.dsl.selection import select
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, as_node, convert
from riselang.dsl.tracing import current_trace, type_text, value_text

Precedes = Callable[[Value, Value], Value]
"""Whether the first scalar comes before the second."""


@helper(1)
def argmax(x: Any) -> Value:
    """Return the index of the first maximum, or of the first NaN if there is one."""
    return _first_extreme("argmax", x, _greater, start=-1)


@helper(1)
def argmin(x: Any) -> Value:
    """Return the index of the first minimum, or of the first NaN if there is one."""
    return _first_extreme("argmin", x, _less, start=1)


@helper(1)
def argsort(x: Any) -> Value:
    """Return the indices that sort an array in ascending order, stably, with NaN at the end."""
    x, _ = _array_of_scalars("argsort", x)
    return map(snd, sort(lambda a, b: _less_than_nan(a.fst, b.fst), _with_indices(x)))


@helper(2)
def top_k(k: Any, x: Any) -> Value:
    """Return the k greatest elements in descending order, and their indices; NaN is greatest."""
    _check_order("top_k", "k", k)
    x, _ = _array_of_scalars("top_k", x)
    return unzip(take(k, sort(lambda a, b: _greater(a.fst, b.fst), _with_indices(x))))


@helper(1)
def cumsum(x: Any) -> Value:
    """Return the sums of the first 1, 2, ... n elements, each added from left to right."""
    x, _ = _array_of_scalars("cumsum", x)
    return scan(lambda total, element: total + element, 0, x)


@helper(4)
def histogram(bins: Any, low: Any, high: Any, x: Any) -> Value:
    """Count the elements in each of several bins of equal width between two numbers.

    The last bin includes its upper bound; elements outside the bounds are not counted. The bin of a
    float is computed in its type, so an element within rounding of a bound may be in either bin.
    """
    _check_order("histogram", "bins, low, high", bins)
    x, type = _array_of_scalars("histogram", x)
    size = as_size(bins, "histogram(bins, low, high)")
    if not size.is_constant:
        refuse(f"histogram: the number of bins must be known here, but found {value_text(bins)}")
    count, low, high = size.constant, Value(as_node(low, type)), Value(as_node(high, type))
    indices = map(lambda a: clamp_idx(count, _bin_of(a, count, low, high, type)), x)
    ones = map(lambda a: convert((a >= low) & (a <= high), i64), x)
    zeros = generate(lambda _: Value(as_node(0, i64)), n=count)
    return scatter_with(lambda old, new: old + new, indices, zeros, ones)


def _check_order(name: str, parameters: str, first: Any) -> None:
    """Reject an array as the first argument, as in NumPy."""
    if isinstance(first, Value) or is_array_like(first):
        refuse(
            f"{name}: the array comes last, as in rl.{name}({parameters}, x) or x | "
            f"rl.{name}({parameters}); rl.numpy.{name} takes it first"
        )


def _bin_of(element: Value, count: int, low: Value, high: Value, type: ScalarType) -> Value:
    if is_float(type):
        return convert((element - low) * (float(count) / (high - low)), i64)
    element, low, high = (convert(each, i64) for each in (element, low, high))
    return (element - low) * count // (high - low)


def _first_extreme(name: str, x: Any, precedes: Precedes, start: int) -> Value:
    """Return the index of the first element that no other precedes; `start` has the last sign."""
    x, type = _array_of_scalars(name, x)
    if is_float(type):
        last: float = start * float("inf")
    else:
        smallest, greatest = integer_range(type)
        last = smallest if start < 0 else greatest

    def choose(best: Value, new: Value) -> tuple[Value, Value]:
        is_better = precedes(new.fst, best.fst)
        return select(is_better, new.fst, best.fst), select(is_better, new.snd, best.snd)

    initial = Value(as_node(last, type)), Value(as_node(0, i64))
    return reduce(choose, initial, _with_indices(x)).snd


def _greater(a: Value, b: Value) -> Value:
    """Whether `a > b`, or only `a` is NaN."""
    return ~(a <= b) & (b == b) if is_float(a.type) else a > b


def _less(a: Value, b: Value) -> Value:
    """Whether `a < b`, or only `a` is NaN."""
    return ~(a >= b) & (b == b) if is_float(a.type) else a < b


def _less_than_nan(a: Value, b: Value) -> Value:
    """Whether `a < b`, or only `b` is NaN."""
    return ~(a >= b) & (a == a) if is_float(a.type) else a < b


def _with_indices(x: Value) -> Value:
    """Return the pairs of each element and its index."""
    return zip(x, generate(lambda i: convert(from_idx(i), i64)))


def _array_of_scalars(name: str, x: Any) -> tuple[Value, ScalarType]:
    """Return an array and the type of its elements; Booleans become 0 and 1."""
    type = x.type if isinstance(x, Value) else None
    if isinstance(type, ArrayType):
        current_trace().settle_number(type.element)
        type = x.type
    if not isinstance(type, ArrayType) or not isinstance(type.element, ScalarType):
        found = value_text(x) if type is None else type_text(type)
        hint = f"; use rl.map(rl.{name}) for each row" if isinstance(type, ArrayType) else ""
        refuse(f"{name} works on an array of scalars, but found {found}{hint}")
    if type.element == i1:
        return map(lambda a: convert(a, i8), x), i8
    return x, type.element
