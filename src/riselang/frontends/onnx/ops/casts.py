"""Conversions between element types, with those of 8 bits and less."""

from __future__ import annotations

from typing import Any

from riselang.frontends.onnx.element_types import (
    SMALL_TYPES,
    SmallFloat,
    SmallInteger,
    element_of_type,
    type_name,
)
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    bitcast,
    compare,
    convert,
    is_nan,
    maximum,
    multiply,
    select,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


@converts("Cast", summary="an elementwise `map`")
def _cast(node: Node) -> Value:
    return cast(node, node[0], type_name(node.integer("to")))


@converts("CastLike", summary="an elementwise `map`")
def _cast_like(node: Node) -> Value:
    like = node[1]
    element, small_type = like.element, like.small_type
    return cast_to(
        node[0], element, small_type, bool(node.integer("saturate", 1)),
        node.text("round_mode", "up"),
    )  # fmt: skip


def cast(node: Node, x: Value, name: str) -> Value:
    element, small_type = element_of_type(name)
    return cast_to(
        x, element, small_type, bool(node.integer("saturate", 1)), node.text("round_mode", "up")
    )


def cast_to(
    x: Value, element: str, small_type: str, saturate: bool = True, round_mode: str = "up"
) -> Value:
    """Convert to an element type, or to a small type that it holds."""
    if (x.element, x.small_type) == (element, small_type):
        return x
    if not small_type:
        found = convert(x, element)
    else:
        form = SMALL_TYPES[small_type]
        if isinstance(form, SmallInteger):
            found = _to_small_integer(x, form)
        elif small_type == "FLOAT8E8M0":
            found = round_to_power(convert(x, "f32"), saturate, round_mode)
        else:
            found = round_to_small(convert(x, "f32"), form, saturate)
    return Value(found.graph, found.shape, found.element, found.array, found.node, found.inputs,
                 small_type)  # fmt: skip


def _to_small_integer(x: Value, form: SmallInteger) -> Value:
    """Keep the low bits; floats are truncated to integers before."""
    wide = convert(x, "i32")
    shift = 32 - form.bits
    up = binary("shift_left", wide, shift)
    name = "shift_right_arithmetic" if form.is_signed else "shift_right_logical"
    return convert(binary(name, up, shift), form.holder)


def round_to_small(x: Value, form: SmallFloat, saturate: bool) -> Value:
    """Round f32 numbers to the nearest ones of a smaller float type, ties to even."""
    bits = bitcast(x, "i32")
    drop = 23 - form.mantissa_bits
    odd = both_bits(binary("shift_right_logical", bits, drop), 1)
    rounded = add(bits, add(odd, (1 << (drop - 1)) - 1))
    normal = bitcast(both_bits(rounded, -(1 << drop)), "f32")
    least = 2.0 ** (1 - form.bias)
    step = least * 2.0**-form.mantissa_bits
    small = multiply(unary("round_nearest_even", multiply(x, 1 / step)), step)
    found = select(compare("LT", unary("abs", x), least), small, normal)
    size = unary("abs", found)
    too_large = compare("GT", size, form.greatest)
    limit = multiply(unary("sign", x), form.greatest)
    overflow: Any = float("inf") if form.has_infinity else float("nan")
    if saturate or not form.has_nan:
        found = select(too_large, limit, found)
    else:
        beyond = multiply(unary("sign", x), overflow)
        found = select(too_large, beyond, found)
    found = select(is_nan(x), x, found) if form.has_nan else select(is_nan(x), -0.0, found)
    if form.bias in (8, 16) and not form.has_infinity:
        # These types have no negative zero.
        found = select(compare("EQ", found, 0), 0, found)
    return found


def both_bits(x: Value, mask: int) -> Value:
    return binary("and", x, mask)


def round_to_power(x: Value, saturate: bool, round_mode: str) -> Value:
    """Round f32 numbers to powers of two."""
    size = unary("abs", x)
    bits = bitcast(size, "i32")
    mask = (1 << 23) - 1
    fraction = both_bits(bits, mask)
    down = both_bits(bits, ~mask)
    up = add(down, 1 << 23)
    if round_mode == "up":
        goes_up = compare("GT", fraction, 0)
    elif round_mode == "down":
        goes_up = compare("LT", fraction, 0)
    else:
        goes_up = compare("GE", fraction, 1 << 22)
    found = bitcast(select(goes_up, up, down), "f32")
    greatest = 2.0**127
    found = select(compare("GT", found, greatest), greatest if saturate else float("nan"), found)
    found = maximum(found, 2.0**-127)
    return select(is_nan(x), x, found)


@converts("BitCast", summary="an elementwise `map`")
def _bit_cast(node: Node) -> Value:
    element, small_type = element_of_type(type_name(node.integer("to")))
    if small_type or node[0].small_type:
        raise LimitationError("elements of 8 bits or less that are not integers are not supported")
    x = node[0]
    if x.type.is_boolean:
        x = convert(x, "ui8")
    if element == "i1":
        return compare("NE", bitcast(x, "ui8"), 0)
    if x.dtype.itemsize != node.graph.full(0, (), element).dtype.itemsize:
        raise LimitationError("elements of different sizes are not supported")
    return bitcast(x, element)
