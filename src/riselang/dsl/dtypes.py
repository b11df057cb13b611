"""Scalar types as NumPy and Python name them: `np.float32`, `"float32"`, `float`."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.types import ScalarType
from riselang.dsl.diagnostics import refuse
from riselang.dsl.tracing import value_text

PYTHON_CLASSES = (bool, int, float, complex)


def as_scalar_type(name: str, dtype: Any) -> ScalarType:
    """Return a scalar type; `float` and `int` are f64 and i64, as in NumPy."""
    if isinstance(dtype, ScalarType):
        return dtype
    scalar = _known_type(dtype)
    if scalar is None:
        refuse(f"{name}: expected a scalar type such as rl.f32, but found {_describe(dtype)}")
    return scalar


def _known_type(dtype: Any) -> ScalarType | None:
    is_class = isinstance(dtype, type) and issubclass(dtype, (np.generic, *PYTHON_CLASSES))
    if not is_class and not isinstance(dtype, np.dtype | str):
        return None
    try:
        return DTYPES.get(np.dtype(dtype).name)
    except TypeError:
        return None


def _describe(dtype: Any) -> str:
    return dtype.__name__ if isinstance(dtype, type) else value_text(dtype)
