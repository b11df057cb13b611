"""Arithmetic, comparisons, logic and elementary functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce as fold
from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import (
    Number,
    add,
    binary,
    both,
    compare,
    convert,
    divide,
    either,
    exponential,
    floor_divide,
    is_nan,
    logarithm,
    maximum,
    minimum,
    multiply,
    negate,
    select,
    square_root,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import reshape
from riselang.frontends.onnx.registry import Conversion, Node, converts, register_table
from riselang.support.errors import LimitationError

MAP = "an elementwise `map`"


def _unary(name: str) -> Conversion:
    return lambda node: unary(name, node[0])


def in_f32(function: Callable[[Value], Value], x: Value) -> Value:
    """Compute a function of half floats as one of f32."""
    if x.type.is_half:
        return convert(function(convert(x, "f32")), x.element)
    return function(x)


UNARY: Mapping[str, str] = {
    "Acos": "chlo.acos", "Asin": "chlo.asin", "Atan": "chlo.atan", "Ceil": "ceil",
    "Cos": "cosine", "Cosh": "chlo.cosh", "Erf": "chlo.erf", "Exp": "exponential",
    "Floor": "floor", "Log": "log", "Neg": "negate", "Round": "round_nearest_even",
    "Sin": "sine", "Sinh": "chlo.sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
    "Abs": "abs", "Sign": "sign", "Not": "not", "BitwiseNot": "not", "Sigmoid": "logistic",
}  # fmt: skip
register_table(UNARY, _unary, MAP)


def acosh(x: Value) -> Value:
    return logarithm(add(x, square_root(subtract(multiply(x, x), 1))))


def asinh(x: Value) -> Value:
    """Compute it of the absolute value, whose terms do not cancel."""
    size = unary("abs", x)
    square = multiply(size, size)
    # log1p(x + x^2 / (1 + sqrt(x^2 + 1)))
    rest = divide(square, add(square_root(add(square, 1)), 1))
    return multiply(unary("sign", x), unary("log_plus_one", add(size, rest)))


def atanh(x: Value) -> Value:
    return multiply(subtract(unary("log_plus_one", x), unary("log_plus_one", negate(x))), 0.5)


for _name, _function in {"Acosh": acosh, "Asinh": asinh, "Atanh": atanh}.items():
    converts(_name, summary=MAP)(lambda node, f=_function: in_f32(f, node[0]))


@converts("Reciprocal", summary=MAP)
def _reciprocal(node: Node) -> Value:
    return divide(1, node[0])


def operands(node: Node) -> tuple[Value, Value]:
    """Return two operands; before op set 7, an attribute says where the second one is."""
    left, right = node[0], node[1]
    axis = node.attributes.get("axis") if node.version < 7 else None
    if axis is None or not node.integer("broadcast", 0):
        return left, right
    missing = left.rank - left.axis(int(axis)) - right.rank
    return left, reshape(right, (*right.shape, *[1] * missing))


def _binary(name: str) -> Conversion:
    return lambda node: binary(name, *operands(node))


BINARY: Mapping[str, str] = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "And": "and", "Or": "or", "Xor": "xor",
    "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "Div": "divide",
}  # fmt: skip
register_table(BINARY, _binary, MAP)


def _compare(direction: str) -> Conversion:
    return lambda node: compare(direction, *operands(node))


register_table(
    {"Equal": "EQ", "Less": "LT", "LessOrEqual": "LE", "Greater": "GT", "GreaterOrEqual": "GE"},
    _compare, MAP,
)  # fmt: skip


def _variadic(function: Callable[[Value, Value], Value]) -> Conversion:
    return lambda node: fold(function, node.values)


register_table({"Max": maximum, "Min": minimum, "Sum": add}, _variadic, MAP)


@converts("Mean", summary=MAP)
def _mean(node: Node) -> Value:
    return divide(fold(add, node.values), len(node.inputs))


@converts("Binarizer", summary=MAP, domain="ai.onnx.ml")
def _binarizer(node: Node) -> Value:
    return convert(compare("GT", node[0], node.number("threshold", 0.0)), node[0].element)


@converts("Where", summary=MAP)
def _where(node: Node) -> Value:
    return select(node[0], node[1], node[2])


@converts("Mod", summary=MAP)
def _mod(node: Node) -> Value:
    left, right = node[0], node[1]
    if left.type.is_half:
        return convert(_remainder(node, convert(left, "f32"), convert(right, "f32")), left.element)
    return _remainder(node, left, right)


def _remainder(node: Node, left: Value, right: Value) -> Value:
    remainder = binary("remainder", left, right)
    if node.integer("fmod", 0) or left.type.is_unsigned:
        return remainder
    if left.type.is_integer:
        return subtract(left, multiply(floor_divide(left, right), right))
    differs = compare("NE", compare("LT", remainder, 0), compare("LT", right, 0))
    return select(both(compare("NE", remainder, 0), differs), add(remainder, right), remainder)


@converts("Pow", summary=MAP)
def _pow(node: Node) -> Value:
    base, exponent = operands(node)
    if exponent.array is not None and exponent.size == 1 and base.type.is_float:
        found = _small_power(base, float(exponent.array.reshape(-1)[0]), exponent)
        if found is not None:
            return found
    if base.element == exponent.element:
        return binary("power", base, exponent)
    if base.type.is_integer and exponent.type.is_integer:
        return binary("power", base, convert(exponent, base.element))
    wide = "f64" if "f64" in (base.element, exponent.element) or base.element == "i64" else "f32"
    power = binary("power", convert(base, wide), convert(exponent, wide))
    return convert(power, base.element)


def _small_power(base: Value, exponent: float, like: Value) -> Value | None:
    if like.rank > base.rank:
        return None
    if exponent == 2:
        return multiply(base, base)
    if exponent == 3:
        return multiply(multiply(base, base), base)
    if exponent == 0.5:
        return square_root(base)
    return None


@converts("BitShift", summary=MAP)
def _bit_shift(node: Node) -> Value:
    """Shift; by all bits or more, nothing but the sign remains."""
    width = node[0].dtype.itemsize * 8
    if node.text("direction") == "RIGHT" and not node[0].type.is_unsigned:
        return binary("shift_right_arithmetic", node[0], minimum(node[1], width - 1))
    name = "shift_left" if node.text("direction") == "LEFT" else "shift_right_logical"
    shifted = binary(name, node[0], minimum(node[1], width - 1))
    return select(compare("GE", node[1], width), 0, shifted)


@converts("IsNaN", summary=MAP)
def _is_nan(node: Node) -> Value:
    return is_nan(node[0])


@converts("IsInf", summary=MAP)
def _is_inf(node: Node) -> Value:
    x, found = node[0], None
    for name, number in (("detect_positive", np.inf), ("detect_negative", -np.inf)):
        if node.integer(name, 1):
            same = compare("EQ", x, float(number))
            found = same if found is None else either(found, same)
    return node.graph.full(0, x.shape, "i1") if found is None else found


def bound(node: Node, position: int, name: str) -> Value | float | None:
    """Return a bound, which is an input in newer op sets, and an attribute in older ones."""
    found = node.optional(position)
    if found is not None:
        return found
    given: Any = node.attributes.get(name)
    return None if given is None else float(given)


@converts("Clip", summary=MAP)
def _clip(node: Node) -> Value:
    x, least, most = node[0], bound(node, 1, "min"), bound(node, 2, "max")
    if least is not None:
        x = maximum(x, least)
    return x if most is None else minimum(x, most)


def numbers(node: Node, **defaults: Number) -> list[float]:
    return [node.number(name, float(default)) for name, default in defaults.items()]


@converts("Identity", summary="no code", keeps_small_types=True)
def _identity(node: Node) -> list[Any]:
    if not node.inputs:
        raise LimitationError("it has no input")
    return [node.inputs[0]]


__all__ = ["exponential", "in_f32", "numbers"]
