"""The NumPy dtypes of MLIR's element types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from riselang.support.element_types import dtype_by_name
from riselang.support.errors import LimitationError

_DTYPES: Mapping[str, str] = {
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "bf16": "bfloat16",
    "f16": "float16", "f32": "float32", "f64": "float64", "i1": "bool",
    **{f"i{width}": f"int{width}" for width in (8, 16, 32, 64)},
    **{f"ui{width}": f"uint{width}" for width in (8, 16, 32, 64)},
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip
SMALL_FLOATS = ("f8E4M3FN", "f8E5M2", "bf16")
"""The elements whose constants the MLIR wheel cannot convert."""


def dtype_of(element: str) -> np.dtype[Any]:
    """Return the NumPy dtype for the elements of a constant."""
    if element not in _DTYPES:
        raise LimitationError(f"a constant of elements {element} is not supported")
    return dtype_by_name(_DTYPES[element])
