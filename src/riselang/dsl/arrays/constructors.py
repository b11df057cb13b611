"""New arrays: constants, ranges and identity matrices.

If the type of the elements is not given, it is inferred from the context. If nothing determines it,
it is NumPy's: f64, or the type of the number in `full`.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from riselang.dialects.rise.types import RiseType, ScalarType, f64, i64, is_float
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import broadcast_to
from riselang.dsl.arrays.shapes import as_shape, length_value, literal_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.dtypes import as_scalar_type
from riselang.dsl.number_types import NUMBER_TYPES
from riselang.dsl.selection import select
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, as_node, convert
from riselang.dsl.tracing import current_trace, value_text
from riselang.nat import Nat

MAX_LENGTH = 1 << 48
"""More numbers than fit into memory."""
MAX_OFFSET = 1 << 62
"""More columns than a matrix has; a diagonal beyond them is empty."""


def zeros(shape: Any, dtype: Any = None) -> Value:
    """Return an array of zeros; of type f64 if neither `dtype` nor a use determines the type."""
    zero = literal_of(0, _number_type("zeros", dtype, float))
    return broadcast_to("zeros", zero, as_shape("zeros", shape))


def ones(shape: Any, dtype: Any = None) -> Value:
    """Return an array of ones; of type f64 if neither `dtype` nor a use determines the type."""
    one = literal_of(1, _number_type("ones", dtype, float))
    return broadcast_to("ones", one, as_shape("ones", shape))


def full(shape: Any, value: Any, dtype: Any = None) -> Value:
    """Return an array whose elements are all this value; `shape` is a size or several."""
    type = None
    if dtype is not None or value.__class__ in NUMBER_TYPES:
        type = _number_type("full", dtype, value.__class__)
    element = Value(as_node(value, None if isinstance(value, Value) else type))
    if dtype is not None and element.type != type:
        element = convert(element, as_scalar_type("full", dtype))
    return broadcast_to("full", element, as_shape("full", shape))


def _number_type(name: str, dtype: Any, number: type) -> RiseType:
    """Return the type that is given, or an open one; it has NumPy's default for a class."""
    if dtype is not None:
        return as_scalar_type(name, dtype)
    trace = current_trace()
    unknown = trace.inference.fresh_type()
    trace.add_number(unknown, number)
    return unknown


def eye(rows: Any, columns: Any = None, k: int = 0, dtype: Any = None) -> Value:
    """Return a matrix with ones on a diagonal, `k` columns to the right of the main diagonal."""
    height = as_size(rows, "eye")
    k = max(-MAX_OFFSET, min(k, MAX_OFFSET))
    width = height if columns is None else as_size(columns, "eye")
    type = _number_type("eye", dtype, float)
    one, zero = literal_of(1, type), literal_of(0, type)

    def row(i: Value) -> Value:
        return patterns.generate(lambda j: select(_number(i) + k == _number(j), one, zero), n=width)

    return patterns.generate(row, n=height)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Value:
    """Return the numbers from `start`, by default 0, to `stop`, which is not included.

    The default types are i64 and, if a number is a float, f64.
    """
    first, last = (0, start) if stop is None else (start, stop)
    for number in (first, last, step):
        if isinstance(number, bool) or not isinstance(number, int | float | Nat):
            found = value_text(number)
            refuse(f"arange: expected numbers or sizes such as x.shape[0], but found {found}")
    if step == 0:
        refuse("arange: the step cannot be 0")
    has_floats = any(isinstance(number, float) for number in (first, last, step))
    type = dtype or (f64 if has_floats else i64)
    count = _range_length(first, last, step)
    wide = f64 if has_floats or is_float(type) else i64

    def element(i: Value) -> Value:
        position = _as_type(_number(i), wide)
        scaled = position if step == 1 else position * _constant(step, wide)
        return _as_type(scaled if first == 0 else scaled + _constant(first, wide), type)

    return patterns.generate(element, n=count)


def _range_length(first: Any, last: Any, step: Any) -> Nat:
    if any(isinstance(number, Nat) for number in (first, last, step)):
        if isinstance(step, Nat | float) or step < 0:
            refuse("arange: the step must be a positive integer if the bounds are not known")
        return (last - first + (step - 1)) // step
    try:
        count = max(0, ceil((last - first) / step))
    except (OverflowError, ValueError):  # an infinite number, a NaN, or a very large quotient
        count = MAX_LENGTH + 1
    if count > MAX_LENGTH:
        refuse(f"arange: the range from {first} to {last} by {step} is too long, or not finite")
    return Nat.const(count)


def _constant(number: Any, type: ScalarType) -> Value:
    return length_value(number, type) if isinstance(number, Nat) else literal_of(number, type)


def _number(i: Value) -> Value:
    return convert(patterns.from_idx(i), i64)


def _as_type(value: Value, type: ScalarType) -> Value:
    return value if value.type == type else convert(value, type)
