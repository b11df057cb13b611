"""The NumPy dtypes of MLIR's element types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from riselang.support.element_types import BF16, dtype_named
from riselang.support.errors import LimitationError

_DTYPES: Mapping[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
    **{f"i{width}": f"int{width}" for width in (8, 16, 32, 64)},
    **{f"ui{width}": f"uint{width}" for width in (8, 16, 32, 64)},
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip


def dtype_of(element: str) -> np.dtype[Any]:
    """Return the NumPy dtype for the elements of a constant."""
    if element == BF16:
        return dtype_named(BF16)
    if element not in _DTYPES:
        raise LimitationError(f"a constant of elements {element} is not supported")
    return np.dtype(_DTYPES[element])
