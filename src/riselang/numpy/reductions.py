"""Reductions and running sums under NumPy's names.

Sums and products of integers and Booleans are i64, and means of them are f64.
"""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.types import i1, i64
from riselang.dsl import array_prelude, patterns
from riselang.dsl.arrays import reductions, selections
from riselang.dsl.arrays.layout import concatenate
from riselang.dsl.arrays.shapes import (
    as_array,
    literal_of,
    normalize_axis,
    rank_of,
    scalar_dtype,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation, convert
from riselang.dsl.tracing import value_text
from riselang.numpy.promotion import (
    as_type,
    as_value,
    promote_to_floats,
    sum_type,
    type_of,
)


def _for_sum(x: Any, dtype: Any) -> Value:
    return as_value(x, sum_type(x) if dtype is None else as_type(dtype))


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Value:
    """Add the elements along these axes."""
    return reductions.sum(_for_sum(x, dtype), axis, keepdims)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Value:
    """Multiply the elements along these axes."""
    return reductions.prod(_for_sum(x, dtype), axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the mean of the elements along these axes."""
    return reductions.mean(promote_to_floats(x)[0], axis, keepdims)


def var(
    x: Any,
    axis: Any = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Value:
    """Return the variance of the elements along these axes; `ddof` is NumPy's name of `correction`,
    which is subtracted from the number of elements."""
    if ddof is not None and correction:
        refuse("var: correction and ddof are the same parameter; pass one of them")
    reduced = correction if ddof is None else ddof
    return reductions.var(promote_to_floats(x)[0], axis, keepdims, reduced)


def std(
    x: Any,
    axis: Any = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Value:
    """Return the standard deviation of the elements along these axes, as `var` does."""
    return build_operation("sqrt", var(x, axis, correction, keepdims, ddof=ddof))


def histogram(x: Any, bins: int = 10, range: tuple[Any, Any] | None = None) -> tuple[Value, Value]:
    """Count the elements in bins of equal width; return the counts and the bounds of the bins.

    `range` contains the lower and the upper bound, which are otherwise those of the elements. The
    last bin includes its upper bound, and elements outside the bounds are not counted.
    """
    (array,) = promote_to_floats(x)
    array, type = array.reshape(-1), scalar_dtype("histogram", array)
    if range is not None and len(range) != 2:
        refuse(f"histogram: range is a pair of two numbers, but found {value_text(range)}")
    bounds = (array.min(), array.max()) if range is None else range
    low, high = (as_value(bound, type) for bound in bounds)
    is_empty, half = low == high, literal_of(0.5, type)
    low, high = select(is_empty, low - half, low), select(is_empty, high + half, high)

    def bound(i: Value) -> Value:
        position = convert(patterns.from_idx(i), i64)
        value = low + convert(position, type) * ((high - low) / float(bins))
        return select(position == bins, high, value)

    counts = array_prelude.histogram(bins, low, high, array)
    return counts, patterns.generate(bound, n=bins + 1)


max, min, all, any = reductions.max, reductions.min, reductions.all, reductions.any
amax, amin = max, min
argmax, argmin = reductions.argmax, reductions.argmin


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Count the elements along these axes that are true, or not zero."""
    truths = x if type_of(x) == i1 else convert(x, i1)
    return reductions.sum(convert(truths, i64), axis, keepdims)


def cumulative_sum(
    x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Value:
    """Return the sums of the first 1, 2, ... elements along an axis."""
    x = _for_sum(x, dtype)
    return _with_initial(x, selections.cumsum(x, axis), axis, 0, include_initial)


def cumulative_prod(
    x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Value:
    """Return the products of the first 1, 2, ... elements along an axis."""
    x = _for_sum(x, dtype)
    return _with_initial(x, selections.cumprod(x, axis), axis, 1, include_initial)


cumsum, cumprod = cumulative_sum, cumulative_prod


def _with_initial(x: Value, result: Value, axis: Any, start: int, include: bool) -> Value:
    if not include:
        return result
    from riselang.dsl.arrays.constructors import full

    number = 0 if axis is None else normalize_axis("cumulative_sum", axis, rank_of(x))
    shape = list(shape_of(result))
    shape[number] = 1  # type: ignore[call-overload]
    return concatenate([full(shape, start, x.dtype), result], number)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Value:
    """Return the differences of neighbors along an axis, `n` times; arrays may be joined first."""
    x = as_array("diff", x)
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    if not isinstance(n, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(f"diff: n is an integer, but found {value_text(n)}")
    for _ in range(n):
        x = selections.along_axis("diff", lambda row: row[1:] - row[:-1], x, axis)
    return x
