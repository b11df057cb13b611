"""Quantization, and ops on quantized tensors."""

from __future__ import annotations

import numpy as np

from riselang.frontends.onnx.element_types import (
    SMALL_TYPES,
    SmallFloat,
    SmallInteger,
    element_of_type,
    type_name,
)
from riselang.frontends.onnx.ops.casts import cast_to
from riselang.frontends.onnx.ops.convolution_windows import add_bias
from riselang.frontends.onnx.ops.integer_convolutions import convolve_bytes
from riselang.frontends.onnx.primitives.contractions import matmul
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Dequantized, Value
from riselang.frontends.onnx.primitives.integer_products import (
    BYTES,
    as_column,
    as_row,
    can_multiply,
    integer_matmul,
    signed_bytes,
)
from riselang.frontends.onnx.primitives.reductions import reduce
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    expand_dims,
    reshape,
    slice_axis,
)
from riselang.frontends.onnx.registry import Node, converts

MAP = "an elementwise `map`"


def along(node: Node, parameter: Value, x: Value) -> Value:
    """Broadcast a scale or zero point: of a tensor, of an axis, or of blocks along an axis."""
    if parameter.size == 1 and parameter.rank <= 1:
        return reshape(parameter, ())
    axis = x.axis(node.integer("axis", 1))
    block = node.integer("block_size", 0)
    if parameter.rank == 1 and not block:
        return broadcast_in_dim(parameter, x.shape, [axis])
    count = parameter.shape[axis]
    block = block or -(-x.shape[axis] // count)
    grown = expand_dims(parameter, [axis + 1])
    shape = [*parameter.shape[: axis + 1], block, *parameter.shape[axis + 1 :]]
    repeated = reshape(
        broadcast_in_dim(grown, shape, range(grown.rank)),
        [n * block if k == axis else n for k, n in enumerate(parameter.shape)],
    )
    return slice_axis(repeated, axis, 0, x.shape[axis])


def saturate(x: Value, element: str, small_type: str = "") -> Value:
    """Convert rounded floats to integers, or round them to small floats."""
    form = SMALL_TYPES.get(small_type)
    if isinstance(form, SmallFloat):
        return cast_to(x, element, small_type)
    if isinstance(form, SmallInteger):
        least, greatest = form.least, form.greatest
    else:
        limits = np.iinfo(x.graph.full(0, (), element).dtype)
        least, greatest = int(limits.min), int(limits.max)
    limited = minimum(maximum(x, least), greatest)
    found = convert(convert(limited, "i32"), element)
    found.small_type = small_type
    return found


@converts("QuantizeLinear", summary=MAP)
def _quantize_linear(node: Node) -> Value:
    x, scale, zero = node[0], node[1], node.optional(2)
    number = node.integer("output_dtype", 0)
    if zero is not None:
        element, small_type = zero.element, zero.small_type
    else:
        element, small_type = element_of_type(type_name(number)) if number else ("ui8", "")
    precision = node.integer("precision", 0)
    wide = element_of_type(type_name(precision))[0] if precision else "f32"
    wide = "f32" if wide in ("f16", "bf16") else wide
    scaled = divide(convert(x, wide), convert(along(node, scale, x), wide))
    if isinstance(SMALL_TYPES.get(small_type), SmallFloat):
        return saturate(scaled, element, small_type)
    rounded = unary("round_nearest_even", scaled)
    if zero is not None:
        rounded = add(rounded, convert(along(node, zero, x), wide))
    return saturate(rounded, element, small_type)


@converts("DequantizeLinear", summary=MAP)
def _dequantize_linear(node: Node) -> Value:
    x, scale, zero = node[0], node[1], node.optional(2)
    number = node.integer("output_dtype", 0)
    element = element_of_type(type_name(number))[0] if number else scale.element
    values: Value
    if zero is not None and not x.type.is_float:
        difference = subtract(convert(x, "i32"), convert(along(node, zero, x), "i32"))
        values = convert(difference, "f32")
    else:
        values = convert(x, "f32")
        if zero is not None:
            values = subtract(values, convert(along(node, zero, x), "f32"))
    found = multiply(values, convert(along(node, scale, x), "f32"))
    made = convert(Value(found.graph, found.shape, found.element, found.array, found.node,
                         found.inputs), element)  # fmt: skip
    if x.element in BYTES and element == scale.element == "f32":
        made.dequantized = _dequantized(node, x, scale, zero)
    return made


def _dequantized(node: Node, x: Value, scale: Value, zero: Value | None) -> Dequantized | None:
    """Return what the scalars or vectors of scales and zero points are for; None for blocks."""
    if scale.size == 1:
        return Dequantized(x, zero, scale, None)
    if scale.rank != 1 or node.integer("block_size", 0):
        return None
    return Dequantized(x, zero, scale, x.axis(node.integer("axis", 1)))


@converts("DynamicQuantizeLinear", summary="`reduce`, and an elementwise `map`")
def _dynamic_quantize_linear(node: Node) -> list[Value]:
    x, axes = node[0], list(range(node[0].rank))
    greatest = maximum(reduce("maximum", x, axes), 0)
    least = minimum(reduce("minimum", x, axes), 0)
    scale = divide(subtract(greatest, least), 255)
    zero = unary("round_nearest_even", minimum(maximum(divide(subtract(0, least), scale), 0), 255))
    quantized = add(unary("round_nearest_even", divide(x, scale)), zero)
    return [saturate(quantized, "ui8"), scale, saturate(zero, "ui8")]


def requantize(total: Value, scales: list[Value], zero: Value) -> Value:
    """Scale an accumulator by a_scale * b_scale / y_scale, and add the zero point."""
    left, right, result = (convert(each, "f32") for each in scales)
    factor = divide(multiply(left, right), result)
    scaled = unary("round_nearest_even", multiply(convert(total, "f32"), factor))
    return saturate(add(scaled, convert(reshape(zero, ()), "f32")), zero.element)


def _shifted(x: Value, zero: Value | None, axis: int) -> Value:
    """Subtract the zero point, of a tensor, or of each row or column."""
    wide = convert(x, "i32")
    if zero is None:
        return wide
    zero = convert(zero, "i32")
    if zero.size == 1:
        return subtract(wide, reshape(zero, ()))
    if zero.rank == 1:
        return subtract(wide, broadcast_in_dim(zero, x.shape, [axis % x.rank]))
    return subtract(wide, zero)


@converts("MatMulInteger", summary="nested `map`s with a `reduce` over `zip` inside")
def _matmul_integer(node: Node) -> Value:
    return _multiply(node[0], node.optional(2), node[1], node.optional(3))


def _multiply(a: Value, a_zero: Value | None, b: Value, b_zero: Value | None) -> Value:
    if not can_multiply(a, b):
        return matmul(_shifted(a, a_zero, -2), _shifted(b, b_zero, -1))
    left, right = signed_bytes(a, as_column(a_zero)), signed_bytes(b, as_row(b_zero))
    return integer_matmul(left, right)


@converts("QLinearMatMul", summary="nested `map`s with a `reduce` over `zip` inside")
def _q_linear_matmul(node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.values
    total = _multiply(a, a_zero, b, b_zero)
    a_wide = _by_axis(a_scale, total, -2)
    return requantize(total, [a_wide, _by_axis(b_scale, total, -1), reshape(y_scale, ())], y_zero)


def _by_axis(scale: Value, like: Value, axis: int) -> Value:
    if scale.size == 1:
        return reshape(scale, ())
    if scale.rank > 1:
        return scale
    return broadcast_in_dim(scale, like.shape, [axis % like.rank])


@converts("QLinearConv", summary="`slide` in each dimension, and `reduce` over `zip`")
def _q_linear_conv(node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = node.values[:8]
    total = add_bias(convolve_bytes(node, x, x_zero, w, w_zero), node.optional(8))
    scales = [reshape(x_scale, ()), _by_axis(w_scale, total, 1), reshape(y_scale, ())]
    return requantize(total, scales, y_zero)
