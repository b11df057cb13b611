"""Random values on which two terms are compared, and the comparison of their results.

Laws with bitwise identical results are tested on all floats, including NaN, infinities and negative
zero, and compared bit by bit, where all NaNs are equal. A single NaN hides how the other terms of a
sum were rounded, so these laws are also tested on ordinary values. Laws that change the order of
sums are tested on moderate values, and floats are compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from riselang.dialects.rise.types import RiseType, ScalarType, index_bounds, leaves
from riselang.interpreter.scalar_semantics import numpy_dtype

Array = np.ndarray[Any, Any]
SPECIAL_FLOATS = (
    float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 0.1, 1e-40, 1e38, -3e4, 2.5,
)  # fmt: skip
MODERATE_LIMIT = 2.0
"""The largest of the moderate floats: sums and products of them lose little precision."""


class Precision(Enum):
    """How two values that should be the same are compared."""

    BITS = "bit by bit"
    TOLERANCE = "with a tolerance"


def random_buffers(
    type: RiseType, precision: Precision, source: np.random.Generator, *, special: bool = True
) -> list[Array]:
    """Return a random array for each scalar leaf of a type; indices are in range.

    If `special`, floats may also be NaN, infinite or one of several other special values.
    """
    buffers: list[Array] = []
    for (lengths, leaf), bound in zip(leaves(type), index_bounds(type), strict=True):
        shape = tuple(length.constant for length in lengths)
        if bound is None:
            buffers.append(_random_array(leaf, shape, precision, source, special))
        else:
            buffers.append(np.asarray(source.integers(0, max(1, bound.constant), shape)))
    return buffers


def _random_array(
    type: ScalarType,
    shape: tuple[int, ...],
    precision: Precision,
    source: np.random.Generator,
    special: bool,
) -> Array:
    dtype = numpy_dtype(type)
    if dtype.kind == "b":
        return np.asarray(source.integers(0, 2, shape), np.bool_)
    if dtype.kind in "iu":
        return _random_integers(dtype, shape, source)
    if precision is Precision.TOLERANCE:
        return np.asarray(source.uniform(-MODERATE_LIMIT, MODERATE_LIMIT, shape)).astype(dtype)
    with np.errstate(all="ignore"):
        if special and source.integers(2):
            return np.asarray(source.choice(np.asarray(SPECIAL_FLOATS), shape)).astype(dtype)
        return np.asarray(source.standard_normal(shape)).astype(dtype)


def _random_integers(dtype: Any, shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Return small integers, or any."""
    if source.integers(2):
        return np.asarray(source.integers(-9, 10, shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return np.asarray(source.integers(limits.min, limits.max, shape, dtype, endpoint=True))


def first_difference(
    left: Sequence[Array], right: Sequence[Array], precision: Precision
) -> tuple[int, ...] | None:
    """Return the number of the first buffer that differs and the index in it, or None."""
    for number, (left_buffer, right_buffer) in enumerate(zip(left, right, strict=True)):
        indices = np.argwhere(~_equal_elements(left_buffer, right_buffer, precision))
        if len(indices):
            return (number, *map(int, indices[0]))
    return None


def _equal_elements(left: Array, right: Array, precision: Precision) -> Array:
    """Return the elementwise equality of two arrays of one type."""
    bits = f"u{left.dtype.itemsize}"
    is_equal = np.asarray(left.reshape(-1).view(bits) == right.reshape(-1).view(bits))
    is_equal = is_equal.reshape(left.shape)
    if left.dtype.kind in "biu":
        return is_equal
    # NumPy does not define bfloat16 itself, so all floats are compared as float64.
    left_floats, right_floats = left.astype(np.float64), right.astype(np.float64)
    is_equal |= np.isnan(left_floats) & np.isnan(right_floats)
    if precision is Precision.BITS:
        return is_equal
    return is_equal | _close_elements(left_floats, right_floats, left.dtype)


def _close_elements(left: Array, right: Array, dtype: Any) -> Array:
    """Whether half of the digits agree, relative to the largest value."""
    with np.errstate(all="ignore"):
        scale = np.nan_to_num(np.abs(left), nan=0, posinf=0).max(initial=1.0)
        return np.abs(left - right) <= scale * np.sqrt(_epsilon(dtype))


def _epsilon(dtype: Any) -> float:
    from ml_dtypes import finfo

    return float(finfo(dtype).eps)
