"""Arguments as buffers: what may come in, and what is refused."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from riselang.dialects.rise.types import SCALAR_NAMES, ScalarType
from riselang.interpreter.scalars import numpy_dtype
from riselang.support.errors import LimitationError, UserError
from riselang.support.machine import total_memory

Array = np.ndarray[Any, np.dtype[Any]]


def _plain_address(array: Array) -> int:
    return array.__array_interface__["data"][0]


pointer_at = ctypes.c_void_p.from_address
DATA = object.__basicsize__
"""Where an array has the pointer to its elements, if `is_quick` says so."""


def _quick_address(array: Array) -> int:
    """The pointer behind the head of the object, where numpy's C API has it (`PyArray_DATA`).

    To ask numpy for it takes four times as long, and more than all the rest of a call.
    """
    return pointer_at(id(array) + DATA).value or 0


def _is_quick() -> bool:
    """Whether arrays of this Python and numpy are laid out as the C API says."""
    if sys.implementation.name != "cpython":
        return False
    probes = [np.zeros(shape, np.int8) for shape in ((), (1,), (2, 3), (0,))]
    return all(_quick_address(probe) == _plain_address(probe) for probe in probes)


is_quick = _is_quick()
address: Callable[[Array], int] = _quick_address if is_quick else _plain_address
"""Where the elements of an array begin."""


class Shadow(np.ndarray[Any, np.dtype[Any]]):
    """The place, the shape and the type of an array on a GPU; its elements cannot be read."""

    owner: Any


LINE = 64
"""Bytes that a cache keeps together."""
LARGE = 1 << 20
"""Bytes from which on an array is worth the microsecond that it takes to align it."""


def is_large(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return prod(shape) * dtype.itemsize >= LARGE


def check_memory(bytes: int, what: str) -> None:
    """Refuse what this machine cannot hold; the system may promise it, then kill the process."""
    if bytes > total_memory():
        raise LimitationError(
            f"there is not enough memory for {what} of {bytes} bytes; this machine has "
            f"{total_memory()}"
        )


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array for results. A large one starts with a line of a cache: numpy's start a quarter of a
    line behind, so that what writes several rows at a time would write parts of lines."""
    if not is_large(shape, dtype):
        return np.empty(shape, dtype)
    count = prod(shape)
    check_memory(count * dtype.itemsize, "a result")
    whole = np.empty(count + LINE // dtype.itemsize, dtype)
    start = -address(whole) % LINE // dtype.itemsize
    return whole[start : start + count].reshape(shape)


def as_array(value: Any, name: str) -> Array:
    """`value` as a NumPy array without a copy."""
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray:
            refuse_masked(value, name)
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            return _copied(value, name, error)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise UserError(
        f"argument {name}: expected an array, but found {type(value).__name__}; "
        "use numpy.asarray with the right dtype"
    )


def _copied(value: Any, name: str, reason: Exception) -> Array:
    """A copy of an array that NumPy cannot share memory with: JAX copies from its GPU."""
    try:
        copy = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        copy = None
    if copy is None or copy.dtype == object:
        raise UserError(f"argument {name}: this array cannot be read here: {reason}") from None
    return copy


def refuse_masked(value: Any, name: str) -> None:
    """Refuse arrays with a mask, of which programs know nothing."""
    if isinstance(value, np.ma.MaskedArray):
        raise UserError(
            f"argument {name}: a masked array cannot be passed, since its mask would be ignored; "
            "pass .filled(value) with a value for what is masked, or .data to use all elements"
        )


_NUMBERS: Mapping[str, tuple[type, ...]] = {
    "f": (int, float, np.integer, np.floating),
    "V": (int, float, np.integer, np.floating),  # bf16 of ml_dtypes
    "i": (int, np.integer),
    "b": (bool, np.bool_),
}


def exact_scalar(value: Any, dtype: np.dtype[Any]) -> Array | None:
    """A number as an array without dimensions; None for what is none, or none of this type."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 0 and value.dtype == dtype else None
    is_number = isinstance(value, _NUMBERS[dtype.kind]) or type(value) is dtype.type
    if not is_number or (isinstance(value, bool | np.bool_) and dtype.kind != "b"):
        return None
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        return None


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
    if isinstance(array, Shadow):
        raise UserError(
            f"argument {name}: indices are checked before a program runs, and cannot be on a GPU; "
            "pass them as an array of numpy"
        )
    wrong = array[(array < 0) | (array >= bound)]
    if wrong.size:
        raise UserError(
            f"argument {name}: expected indices in [0, {bound}), but found {wrong.flat[0]}"
        )
