"""Elementwise functions, whose operands are broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.graph import Array, Value
from riselang.frontends.onnx.primitives.shapes import broadcast_to
from riselang.support.errors import LimitationError

MAX_FOLDED = 1 << 16
"""The number of elements up to which elementwise functions are computed during import."""


def _truncating_divide(left: Array, right: Array) -> Array:
    if left.dtype.kind not in "iu":
        return left / right
    return (left - np.fmod(left, right)) // right


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "negate": np.negative, "abs": np.abs, "not": np.invert, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "round_nearest_even": np.rint, "exponential": np.exp, "log": np.log,
    "sign": np.sign, "cosine": np.cos, "sine": np.sin, "tanh": np.tanh,
}  # fmt: skip
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": _truncating_divide,
    "maximum": np.maximum, "minimum": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "power": np.power, "remainder": np.fmod,
}  # fmt: skip
COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
    "GE": np.greater_equal,
}  # fmt: skip
Number = int | float


def common_shape(values: Sequence[Value]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(each.shape for each in values))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in values)
        raise LimitationError(f"tensors of the shapes {shapes} cannot be combined") from None


def _fold(
    function: Callable[..., Any], values: Sequence[Value], element: str | None = None
) -> Value | None:
    """Compute the result if all operands are known."""
    arrays = [each.array for each in values if each.array is not None]
    if len(arrays) < len(values) or any(each.size > MAX_FOLDED for each in arrays):
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(function(*arrays))
    if found.size > MAX_FOLDED:
        return None
    return values[0].graph.constant(found, element or values[-1].element)


def unary(name: str, x: Value) -> Value:
    folded = _fold(UNARY[name], [x], x.element) if name in UNARY else None
    if folded is not None:
        return folded
    return x.graph.emit_one(name, [x], (x.shape, x.element))


def as_values(*operands: Value | Number) -> list[Value]:
    """Convert Python numbers to constants of the type of the other operands."""
    like = next(each for each in operands if isinstance(each, Value))
    return [each if isinstance(each, Value) else like.graph.scalar(each, like) for each in operands]


def _broadcast(values: Sequence[Value]) -> tuple[list[Value], tuple[int, ...]]:
    shape = common_shape(values)
    return [broadcast_to(each, shape) for each in values], shape


def _check_elements(left: Value, right: Value) -> None:
    if left.element != right.element:
        raise LimitationError(f"elements {left.element} and {right.element} cannot be combined")


def binary(name: str, left: Value | Number, right: Value | Number) -> Value:
    values = as_values(left, right)
    _check_elements(*values)
    folded = _fold(BINARY[name], values) if name in BINARY else None
    if folded is not None:
        return folded
    operands, shape = _broadcast(values)
    return values[0].graph.emit_one(name, operands, (shape, values[0].element))


def compare(direction: str, left: Value | Number, right: Value | Number) -> Value:
    values = as_values(left, right)
    _check_elements(*values)
    folded = _fold(COMPARISONS[direction], values, "i1")
    if folded is not None:
        return folded
    operands, shape = _broadcast(values)
    return values[0].graph.emit_one(
        "compare", operands, (shape, "i1"), comparison_direction=direction
    )


def select(condition: Value, chosen: Value | Number, other: Value | Number) -> Value:
    first, second = as_values(chosen, other)
    _check_elements(first, second)
    folded = _fold(np.where, [condition, first, second], first.element)
    if folded is not None:
        return folded
    operands, shape = _broadcast([condition, first, second])
    return condition.graph.emit_one("select", operands, (shape, first.element))


def convert(x: Value, element: str) -> Value:
    """Convert numbers as in C; floats are truncated to integers, and become true if not zero."""
    if x.element == element:
        return x
    target = x.graph.full(0, (), element).dtype
    folded = _fold(lambda array: _converted(array, target), [x], element)
    if folded is not None:
        return folded
    if element == "i1":
        return compare("NE", x, 0)
    return x.graph.emit_one("convert", [x], (x.shape, element))


def _converted(array: Array, target: np.dtype[Any]) -> Array:
    """Convert known numbers. Floats that no integer represents become the nearest one, and NaN
    becomes 0, as when they are converted at run time; in NumPy, that depends on the machine."""
    if target.kind not in "iu" or array.dtype.kind in "iub":
        return array.astype(target)
    limits, numbers = np.iinfo(target), array.astype(np.float64)
    is_low, is_high = numbers <= float(limits.min), numbers >= float(limits.max)
    inside = np.where(is_low | is_high | np.isnan(numbers), 0, numbers).astype(target)
    return np.where(is_low, limits.min, np.where(is_high, limits.max, inside)).astype(target)


def bitcast(x: Value, element: str) -> Value:
    """Reinterpret the bits of elements of the same size."""
    if x.element == element:
        return x
    if x.array is not None:
        target = x.graph.full(0, (), element).dtype
        return x.graph.constant(np.ascontiguousarray(x.array).view(target).reshape(x.shape))
    return x.graph.emit_one("bitcast_convert", [x], (x.shape, element))


def add(left: Value | Number, right: Value | Number) -> Value:
    return binary("add", left, right)


def subtract(left: Value | Number, right: Value | Number) -> Value:
    return binary("subtract", left, right)


def multiply(left: Value | Number, right: Value | Number) -> Value:
    return binary("multiply", left, right)


def divide(left: Value | Number, right: Value | Number) -> Value:
    return binary("divide", left, right)


def maximum(left: Value | Number, right: Value | Number) -> Value:
    return binary("maximum", left, right)


def minimum(left: Value | Number, right: Value | Number) -> Value:
    return binary("minimum", left, right)


def both(left: Value, right: Value) -> Value:
    return binary("and", left, right)


def either(left: Value, right: Value) -> Value:
    return binary("or", left, right)


def negate(x: Value) -> Value:
    # ONNX does not negate unsigned integers.
    return subtract(0, x) if x.element.startswith("ui") else unary("negate", x)


def exponential(x: Value) -> Value:
    return unary("exponential", x)


def logarithm(x: Value) -> Value:
    return unary("log", x)


def square_root(x: Value) -> Value:
    return unary("sqrt", x)


def is_nan(x: Value) -> Value:
    return compare("NE", x, x)


def floor_divide(left: Value, right: Value | Number) -> Value:
    """Divide integers, rounding down."""
    values = as_values(left, right)
    quotient = divide(*values)
    remainder = subtract(values[0], multiply(quotient, values[1]))
    is_lower = both(
        compare("NE", remainder, 0),
        compare("NE", compare("LT", remainder, 0), compare("LT", values[1], 0)),
    )
    return subtract(quotient, convert(is_lower, left.element))


def wrap_index(indices: Value, length: int) -> Value:
    """Return indices as i64, where negative ones count from the end."""
    indices = convert(indices, "i64")
    return select(compare("LT", indices, 0), add(indices, length), indices)
