"""Arguments as buffers: what may come in, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.types import SCALAR_NAMES, ScalarType
from riselang.errors import UserError
from riselang.interpreter.scalars import numpy_dtype

Array = np.ndarray[Any, np.dtype[Any]]


def as_array(value: Any, name: str) -> Array:
    """`value` as a numpy array without a copy."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise UserError(f"argument {name}: this array cannot be read here: {error}") from None
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise UserError(
        f"argument {name}: expected an array, but found {type(value).__name__}; "
        "use numpy.asarray with the right dtype"
    )


def check_dtype(array: Array, type: ScalarType, name: str) -> None:
    expected = numpy_dtype(type)
    if array.dtype != expected:
        raise UserError(
            f"argument {name}: expected dtype {expected} ({SCALAR_NAMES[type]}), "
            f"but found {array.dtype}"
        )


def check_shape(array: Array, shape: Sequence[int], name: str) -> None:
    if array.shape != tuple(shape):
        raise UserError(f"argument {name}: expected shape {tuple(shape)}, but found {array.shape}")


def check_layout(array: Array, name: str, *, written: bool) -> None:
    if not array.flags.c_contiguous:
        raise UserError(
            f"argument {name}: expected a C-contiguous array, but its strides are {array.strides}; "
            "use numpy.ascontiguousarray"
        )
    if not array.flags.aligned:
        raise UserError(f"argument {name}: the array is not aligned to its elements")
    if written and not array.flags.writeable:
        raise UserError(f"argument {name}: results are written to it, but it is read-only")


def check_indices(array: Array, bound: int, name: str) -> None:
    """Indices from outside are not known to be in range, so they are checked at the call."""
    wrong = array[(array < 0) | (array >= bound)]
    if wrong.size:
        raise UserError(
            f"argument {name}: expected indices in [0, {bound}), but found {wrong.flat[0]}"
        )
