"""Reductions of arrays along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.dialects.rise.types import (
    ScalarType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
    integer_range,
    is_float,
)
from riselang.dsl import array_prelude, patterns
from riselang.dsl.arrays.layout import expand_dims, flatten_last, permute_axes
from riselang.dsl.arrays.shapes import (
    as_array,
    length_value,
    literal_of,
    map_at,
    normalize_axes,
    product,
    rank_of,
    scalar_dtype,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import scalar_function
from riselang.dsl.symbolic_values import Value, convert
from riselang.dsl.tracing import type_text, value_text

HALF_TYPES = (f16, bf16)
"""The types whose means are computed in f32, as in NumPy, since their sums overflow early."""
ADD, MULT, MAX, MIN, OR, AND = (
    scalar_function(name) for name in ("add", "mult", "max", "min", "bitor", "bitand")
)


def reduce_axes(
    name: str, reduce_row: Callable[[Value], Any], x: Any, axis: Any, keepdims: Any
) -> Value:
    """Apply a function to the elements along some axes, in row-major order."""
    x = as_array(name, x, 0)
    rank = rank_of(x)
    axes = normalize_axes(name, axis, rank)
    if not isinstance(keepdims, bool | int):
        refuse(f"{name}: keepdims is True or False, but found {value_text(keepdims)}")
    kept = [number for number in range(rank) if number not in axes]
    if rank == 0 or not axes:
        rows = map_at(rank, lambda element: patterns.generate(lambda _: element, n=1), x)
    else:
        rows = flatten_last(permute_axes(x, (*kept, *axes)), len(axes))
    result = map_at(len(kept), reduce_row, rows)
    return expand_dims(result, tuple(sorted(axes))) if keepdims and axes else result


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Add the elements along these axes, from left to right; Booleans are counted as i64."""
    x, type = _as_numbers("sum", x)
    return reduce_axes("sum", patterns.reduce(ADD, literal_of(0, type)), x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Multiply the elements along these axes, from left to right."""
    x, type = _as_numbers("prod", x)
    return reduce_axes("prod", patterns.reduce(MULT, literal_of(1, type)), x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Divide the sum along these axes by the number of its elements; of integers, as an f64."""
    x, type = _as_floats("mean", x)
    if type in HALF_TYPES:
        return convert(mean(convert(x, f32), axis, keepdims), type)
    return sum(x, axis, keepdims) / length_value(_count("mean", x, axis), type)


def var(x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0) -> Value:
    """Return the variance: the mean of the squared differences from the mean."""
    x, type = _as_floats("var", x)
    if type.is_complex:
        refuse("var works on real numbers, but these are complex")
    if type in HALF_TYPES:
        return convert(var(convert(x, f32), axis, keepdims, correction), type)
    difference = x - mean(x, axis, keepdims=True)
    count = length_value(_count("var", x, axis), type)
    return sum(difference * difference, axis, keepdims) / (count - correction)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the greatest element along these axes; NaN if there is one."""
    return _extreme("max", MAX, -1, x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the smallest element along these axes; NaN if there is one."""
    return _extreme("min", MIN, 1, x, axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return whether no element along these axes is zero."""
    return reduce_axes("all", patterns.reduce(AND, True), _truths("all", x), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return whether an element along these axes is not zero."""
    return reduce_axes("any", patterns.reduce(OR, False), _truths("any", x), axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the position of the first maximum along an axis, or among all elements."""
    return reduce_axes("argmax", array_prelude.argmax, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the position of the first minimum along an axis, or among all elements."""
    return reduce_axes("argmin", array_prelude.argmin, x, axis, keepdims)


def limit_of(type: ScalarType, sign: int) -> float:
    """Return the last number of a type in the direction of the sign."""
    if is_float(type):
        return sign * float("inf")
    smallest, greatest = integer_range(type)
    return smallest if sign < 0 else greatest


def _extreme(name: str, function: Any, sign: int, x: Any, axis: Any, keepdims: bool) -> Value:
    type = scalar_dtype(name, x)
    if type.is_complex:
        refuse(f"{name} needs an order, but found {type_text(x.type)}; use x.real or rl.abs(x)")
    if _count(name, x, axis) == 0:
        refuse(f"{name}: {type_text(x.type)} has no elements along these axes, so no {name}imum")
    if type == i1:
        start = patterns.reduce(AND, True) if sign > 0 else patterns.reduce(OR, False)
        return reduce_axes(name, start, x, axis, keepdims)
    start = literal_of(limit_of(type, sign), type)
    return reduce_axes(name, patterns.reduce(function, start), x, axis, keepdims)


def _count(name: str, x: Any, axis: Any) -> Any:
    shape = shape_of(x)
    return product(shape[number] for number in normalize_axes(name, axis, len(shape)))


def _truths(name: str, x: Any) -> Value:
    type = scalar_dtype(name, x)
    if type.is_complex:
        return x != 0
    return x if type == i1 else convert(x, i1)


def _as_numbers(name: str, x: Any) -> tuple[Value, ScalarType]:
    """Return an array of numbers, and their type; Booleans become i64."""
    x = as_array(name, x, 0)
    type = scalar_dtype(name, x)
    return (convert(x, i64), i64) if type == i1 else (x, type)


def _as_floats(name: str, x: Any) -> tuple[Value, ScalarType]:
    """Return an array of floats or complex numbers, and their type; others become f64."""
    x = as_array(name, x, 0)
    type = scalar_dtype(name, x)
    return (x, type) if is_float(type) or type.is_complex else (convert(x, f64), f64)
