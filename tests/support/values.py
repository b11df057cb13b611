"""Values for the inputs of programs, with the numbers that go wrong first; and exact comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riselang.dialects.rise.types import SCALAR_NAMES, RiseType, index_bounds, leaves
from support.numpy_scalars import DTYPES, Array

SPECIAL_FLOATS = (
    float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-3, 3e4,
    1e38, -1e38, 1e-40, 2147483648.0, -2147483649.0, 9.3e18, 127.5, -128.5, 255.9, 0.1,
)  # fmt: skip


def random_values(type: RiseType, source: np.random.Generator) -> list[Array]:
    """An array for each scalar leaf of `type`; what is an index is in range."""
    values: list[Array] = []
    for (lengths, leaf), bound in zip(leaves(type), index_bounds(type), strict=True):
        shape = tuple(length.constant for length in lengths)
        if bound is None:
            values.append(random_array(SCALAR_NAMES[leaf], shape, source))
        else:
            values.append(np.asarray(source.integers(0, bound.constant, shape)))
    return values


def random_array(type: str, shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Small numbers, all numbers, or special ones."""
    dtype = np.dtype(DTYPES[type])
    kind = source.integers(4)
    if type == "i1":
        return np.asarray(source.integers(0, 2, shape), np.bool_)
    if kind < 2:
        return np.asarray(source.integers(-9, 10, shape)).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if kind == 2:
            return np.asarray(source.integers(limits.min, limits.max, shape, dtype, endpoint=True))
        special = [0, 1, 2, 7, limits.min, limits.max, limits.min + 1]
        special.append(-1 if dtype.kind == "i" else limits.max // 2 + 1)
        return np.asarray(source.choice(np.asarray(special, dtype), shape))
    with np.errstate(all="ignore"):
        if kind == 2:
            scale = 10.0 ** source.integers(-3, 4)
            return np.asarray(source.standard_normal(shape) * scale).astype(dtype)
        return np.asarray(source.choice(np.asarray(SPECIAL_FLOATS), shape)).astype(dtype)


def garbage(type: RiseType) -> list[Array]:
    """Buffers whose contents no program computes by chance."""
    buffers: list[Array] = []
    for lengths, leaf in leaves(type):
        shape = tuple(length.constant for length in lengths)
        dtype = np.dtype(DTYPES[SCALAR_NAMES[leaf]])
        if dtype == np.bool_:
            buffers.append(np.ones(shape, np.bool_))
            continue
        buffer = np.empty(shape, dtype)
        buffer.reshape(-1).view(np.uint8)[...] = 0xA5
        buffers.append(buffer)
    return buffers


def same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    """Bit for bit, except that any NaN is equal to any other."""
    return len(left) == len(right) and all(map(_same_array, left, right))


def _same_array(left: Array, right: Array) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    bits = f"u{left.dtype.itemsize}"
    equal = np.array(left).view(bits) == np.array(right).view(bits)
    if left.dtype.kind not in "biu":
        equal |= np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return bool(equal.all())
