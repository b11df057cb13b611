"""Copies of arrays whose rows of vectors do not cross cache lines."""

from __future__ import annotations

from typing import Any

import numpy as np

CACHE_LINE = 64
MIN_BYTES = 1 << 10
"""The size in bytes of the smallest array that is worth the additional memory."""


def aligned_bytes(size: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Return bytes that start at a cache line and are not initialized."""
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def aligned_copy(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a copy in row-major order that starts at a cache line, if it is not small.

    NumPy's arrays start at any multiple of 16 bytes. Each load of a vector of 64 bytes from such an
    array reads two cache lines, so that reading a large matrix takes up to twice as long.
    """
    if array.nbytes < MIN_BYTES:
        return np.array(array, order="C")
    copy = aligned_bytes(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
