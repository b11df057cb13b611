"""Products of quantized matrices, computed with integers.

A quantized number stands for `scale * (value - zero)`; the value and the zero point are bytes. The
sum of the products of a row and a column of k numbers is, without the scales,

    sum((x - a) * (y - b)) = sum(x * y) - a * (sum(y) - k * b) - b * sum(x)

which is equal for integers that wrap: the law `zero_points_after_products`. The first sum is one of
products of signed bytes, for which CPUs have instructions. The other terms cost little, and most
vanish: weights are constants, and often have the zero point 0.

The scales are factors of the sum, if they are the same along the row and the column: the law
`scales_after_products`. It rounds floats less often, so that it needs the permission "relaxed".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riselang.frontends.onnx.primitives.contractions import matmul
from riselang.frontends.onnx.primitives.elementwise import (
    MAX_FOLDED,
    convert,
    multiply,
    subtract,
)
from riselang.frontends.onnx.primitives.graph import Dequantized, Value
from riselang.frontends.onnx.primitives.reductions import sum_of
from riselang.frontends.onnx.primitives.shapes import expand_dims, reshape, transpose
from riselang.rewrite.rules.dot_products import MAX_BYTE_PRODUCTS

BYTES = ("i8", "ui8")
RELAXED = "relaxed"
SIGN = 128
"""Subtracted from an unsigned byte, it makes a signed one."""


@dataclass(frozen=True, eq=False)
class Bytes:
    """A tensor of signed bytes, and the zero points that are subtracted from them, as i32."""

    values: Value
    zero: Value | None
    """A scalar, or a tensor that is broadcast; None if it is 0."""


def signed_bytes(values: Value, zero: Value | None) -> Bytes:
    """Return signed bytes and zero points with the same differences."""
    if values.element == "ui8":
        wide = values.graph.scalar(0, values) if zero is None else zero
        shifted: Value | None = subtract(convert(wide, "i32"), SIGN)
        values = _without_sign(values)
    else:
        shifted = None if zero is None else convert(zero, "i32")
    if shifted is not None and shifted.array is not None and not shifted.array.any():
        shifted = None
    return Bytes(values, shifted)


def _without_sign(x: Value) -> Value:
    if x.array is not None:
        return x.graph.constant((x.array.astype(np.int16) - SIGN).astype(np.int8), "i8")
    return x.graph.once("signed", x, lambda: convert(subtract(convert(x, "i32"), SIGN), "i8"))


def integer_matmul(left: Bytes, right: Bytes) -> Value:
    """Multiply matrices as `numpy.matmul`, in i32. The zero points of the left one have a column
    or are scalars, those of the right one have a row or are scalars."""
    x, y = left.values, right.values
    total = matmul(x, y, "i32")
    if left.zero is not None:
        sums = _sums(y, y.rank - 2)
        if right.zero is not None:
            sums = subtract(sums, multiply(right.zero, x.shape[-1]))
        total = subtract(total, multiply(left.zero, sums))
    if right.zero is not None:
        total = subtract(total, multiply(right.zero, _sums(x, x.rank - 1)))
    return total


def _sums(x: Value, axis: int) -> Value:
    """Add the elements along a dimension, which gets the length 1."""
    if x.array is not None and x.size // max(x.shape[axis], 1) <= MAX_FOLDED:
        return x.graph.constant(x.array.sum(axis, dtype=np.int32, keepdims=True), "i32")
    return expand_dims(sum_of(convert(x, "i32"), [axis]), [axis])


def can_multiply(left: Value, right: Value) -> bool:
    """Whether these are matrices of bytes."""
    return all(each.element in BYTES and each.rank >= 2 for each in (left, right))


def as_column(zero: Value | None) -> Value | None:
    """Return what each row has so that it is broadcast along the columns."""
    if zero is None or zero.rank > 1:
        return zero
    return reshape(zero, () if zero.size == 1 else (zero.size, 1))


def as_row(zero: Value | None) -> Value | None:
    if zero is None or zero.rank > 1:
        return zero
    return reshape(zero, () if zero.size == 1 else (zero.size,))


def dequantized_matmul(left: Value, right: Value) -> Value | None:
    """Multiply dequantized matrices by their integers; None if they are not, or if this program may
    not round floats in another way."""
    x, y = left.dequantized, right.dequantized
    if x is None or y is None or left.graph.float != RELAXED:
        return None
    fits = can_multiply(x.values, y.values) and left.shape[-1] <= MAX_BYTE_PRODUCTS
    if not fits or x.axis not in (None, left.rank - 2) or y.axis not in (None, right.rank - 1):
        return None
    total = integer_matmul(
        signed_bytes(x.values, as_column(x.zero)), signed_bytes(y.values, as_row(y.zero))
    )
    column, row = as_column(x.scale), as_row(y.scale)
    assert column is not None
    assert row is not None
    return multiply(convert(total, "f32"), multiply(column, row))


def transposed(x: Value) -> Value:
    """Transpose a matrix, and the integers that it is computed from."""
    made = transpose(x, (1, 0))
    found = x.dequantized
    if found is not None:
        axis = None if found.axis is None else 1 - found.axis
        values = transpose(found.values, (1, 0))
        made.dequantized = Dequantized(values, found.zero, found.scale, axis)
    return made
