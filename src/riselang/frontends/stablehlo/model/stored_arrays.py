"""Arrays of a model in the kernel cache: its constants, or what its calls read of them.

An entry has the length of a text, the text, which is JSON with the element types and shapes, and
the bytes of each array. They are read into one buffer, of which the arrays are views. The cache
checks its entries.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.runtime.cache import KernelCache
from riselang.runtime.sealing import as_value_errors, check_json_type
from riselang.support.aligned_arrays import CACHE_LINE, aligned_bytes

Array = np.ndarray[Any, np.dtype[Any]]
LENGTH_BYTES = 8
"""The bytes of the length of the text."""


def dtype_name(array: Array) -> str:
    """Return the StableHLO name of an element type."""
    return next(name for name in ELEMENT_TYPES if dtype_of(name) == array.dtype)


def store_arrays(cache: KernelCache, key: str, arrays: Sequence[Array]) -> None:
    cache.write(key, encode_arrays(arrays))


def load_arrays(cache: KernelCache, key: str) -> tuple[Array, ...] | None:
    """Return what `store_arrays` wrote; None if it is not there."""
    data = cache.read_into(key, aligned_bytes)
    return None if data is None else decode_arrays(data)


def encode_arrays(arrays: Sequence[Array]) -> bytes:
    text = json.dumps([[dtype_name(each), list(each.shape)] for each in arrays]).encode()
    parts: list[Any] = [len(text).to_bytes(LENGTH_BYTES, "little"), text]
    offset = LENGTH_BYTES + len(text)
    for each in arrays:
        parts += [
            bytes(-offset % CACHE_LINE),
            np.ascontiguousarray(each).reshape(-1).view(np.uint8),
        ]
        offset += -offset % CACHE_LINE + each.nbytes
    return b"".join(parts)


def decode_arrays(data: Array) -> tuple[Array, ...] | None:
    """Return what `encode_arrays` wrote, as views of its bytes; None for other bytes."""
    try:
        with as_value_errors("arrays"):
            return tuple(_views(data))
    except ValueError:
        return None


def _views(data: Array) -> list[Array]:
    offset = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES].tobytes(), "little")
    arrays: list[Array] = []
    for element, shape in json.loads(data[LENGTH_BYTES:offset].tobytes()):
        dtype = dtype_of(check_json_type(element, str))
        lengths = [check_json_type(each, int) for each in shape]
        offset += -offset % CACHE_LINE
        # Raises a ValueError if there are too few bytes.
        arrays.append(np.frombuffer(data, dtype, prod(lengths), offset).reshape(lengths))
        offset += arrays[-1].nbytes
    return arrays
