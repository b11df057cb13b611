"""Element types by name, and their NumPy dtypes; calls of compiled code need no more of a type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

BF16 = "bf16"
DTYPE_NAMES: Mapping[str, str] = {
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f16": "float16", BF16: "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "index": "int64",
    "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
"""The names of the scalar types of programs, as they are written there, and of their dtypes."""
ML_DTYPES = ("float8_e4m3fn", "float8_e5m2", "bfloat16")
"""The dtypes that the package ml_dtypes defines."""
COMPLEX_ELEMENTS: Mapping[str, str] = {"f32": "complex64", "f64": "complex128"}
"""The complex type with parts of each float type."""
DYNAMIC_LENGTH = -(1 << 63)
"""Stands for a dynamic length in shapes; it is MLIR's number."""


@cache
def dtype_named(name: str) -> np.dtype[Any]:
    """Return the dtype of an element type."""
    return dtype_by_name(DTYPE_NAMES[name])


def dtype_by_name(name: str) -> np.dtype[Any]:
    if name not in ML_DTYPES:
        return np.dtype(name)
    # Deferred: this is slow and rarely needed.
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
