"""Convolutions of quantized images, computed with integers.

Kernels of one element are the rows of a matrix, and the elements of an image the columns of another
one; their product is the result. Padding has the zero point of the images, so that it adds nothing.
Other kernels are multiplied as integers of 32 bits.
"""

from __future__ import annotations

from math import prod

from riselang.frontends.onnx.ops.convolution_windows import (
    convolve,
    integers,
    padding,
    without_zeros,
)
from riselang.frontends.onnx.primitives.elementwise import convert, multiply
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.integer_products import (
    BYTES,
    MAX_BYTE_PRODUCTS,
    RELAXED,
    Bytes,
    as_column,
    integer_matmul,
    signed_bytes,
)
from riselang.frontends.onnx.primitives.shapes import pad, reshape, slice_
from riselang.frontends.onnx.registry import Node


def convolve_bytes(
    node: Node, x: Value, x_zero: Value | None, kernels: Value, kernel_zero: Value | None
) -> Value:
    """Convolve images with kernels, less their zero points; the sums are i32."""
    if not _is_product(node, x, kernels):
        wide = convert(x, "i32"), convert(kernels, "i32")
        return convolve(node, *without_zeros(*wide, x_zero, kernel_zero))
    scalar = None if x_zero is None else reshape(x_zero, ())
    columns, shape = _columns(node, signed_bytes(x, scalar))
    rows = reshape(kernels, (kernels.shape[0], prod(kernels.shape[1:])))
    total = integer_matmul(signed_bytes(rows, as_column(kernel_zero)), columns)
    return reshape(total, (x.shape[0], kernels.shape[0], *shape))


def _is_product(node: Node, x: Value, kernels: Value) -> bool:
    """Whether these are bytes in one group, and kernels of one element."""
    are_bytes = x.element in BYTES and kernels.element in BYTES
    fits = kernels.rank == x.rank and kernels.shape[1:2] == x.shape[1:2]
    has_one_element = all(size == 1 for size in kernels.shape[2:])
    return are_bytes and fits and has_one_element and node.integer("group", 1) == 1


def _columns(node: Node, images: Bytes) -> tuple[Bytes, tuple[int, ...]]:
    """Return the elements that kernels are at, and the shape of the images of results."""
    x, rank = images.values, images.values.rank - 2
    strides = integers(node, "strides", rank)
    pads = padding(node, x.shape[2:], [1] * rank, strides, [1] * rank)
    border = x.graph.full(0, (), "i8") if images.zero is None else convert(images.zero, "i8")
    x = pad(x, border, [0, 0, *(a for a, _ in pads)], [0, 0, *(b for _, b in pads)])
    x = slice_(x, [0] * x.rank, x.shape, [1, 1, *strides])
    columns = reshape(x, (*x.shape[:2], prod(x.shape[2:])))
    return Bytes(columns, images.zero), x.shape[2:]


def convolve_dequantized(node: Node, x: Value, kernels: Value) -> Value | None:
    """Convolve dequantized images by their integers; None if they are not, or if this program may
    not round floats in another way."""
    images, weights = x.dequantized, kernels.dequantized
    if images is None or weights is None or x.graph.float != RELAXED:
        return None
    depth = prod(kernels.shape[1:])
    if images.axis is not None or weights.axis not in (None, 0) or depth > MAX_BYTE_PRODUCTS:
        return None
    if not _is_product(node, images.values, weights.values):
        return None
    total = convolve_bytes(node, images.values, images.zero, weights.values, weights.zero)
    scale = reshape(images.scale, ())
    of_kernels = weights.scale
    shape = () if of_kernels.size == 1 else (of_kernels.size, *(1 for _ in x.shape[2:]))
    return multiply(convert(total, "f32"), multiply(scale, reshape(of_kernels, shape)))
