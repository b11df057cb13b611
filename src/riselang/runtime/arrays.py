"""Convert arguments to buffers, and check their types, shapes and layouts."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from riselang.support.element_types import dtype_named
from riselang.support.errors import LimitationError, UserError
from riselang.support.machine import total_memory
from riselang.support.tracebacks import own_frame_count

Array = np.ndarray[Any, np.dtype[Any]]


def _interface_address(array: Array) -> int:
    return array.__array_interface__["data"][0]


pointer_at = ctypes.c_void_p.from_address
DATA_OFFSET = object.__basicsize__
"""The offset of the data pointer in an array object, if `is_quick`."""


def _object_address(array: Array) -> int:
    """Return the data pointer, which NumPy's C API stores after the object header (`PyArray_DATA`).

    Asking NumPy for it takes four times as long, and longer than the rest of a call.
    """
    return pointer_at(id(array) + DATA_OFFSET).value or 0


def _has_object_layout() -> bool:
    """Return whether array objects of this Python and NumPy have the layout of the C API."""
    if sys.implementation.name != "cpython":
        return False
    probes = [np.zeros(shape, np.int8) for shape in ((), (1,), (2, 3), (0,))]
    return all(_object_address(probe) == _interface_address(probe) for probe in probes)


has_object_layout = _has_object_layout()
address: Callable[[Array], int] = _object_address if has_object_layout else _interface_address
"""Returns the address of the first element of an array."""


class DeviceView(np.ndarray[Any, np.dtype[Any]]):
    """The address, shape and dtype of an array on a GPU; its elements cannot be read."""

    owner: Any


CACHE_LINE = 64
"""The size of a cache line in bytes."""
LARGE_ARRAY = 1 << 20
"""The size in bytes from which an array is aligned, which takes a microsecond."""


def is_large(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return prod(shape) * dtype.itemsize >= LARGE_ARRAY


def check_memory(bytes: int, what: str) -> None:
    """Reject allocations beyond this machine's memory; the system may kill the process later."""
    if bytes > total_memory():
        raise LimitationError(
            f"there is not enough memory for {what} of {bytes} bytes; this machine has "
            f"{total_memory()}"
        )


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Allocate an array for results; a large one is aligned to a cache line.

    NumPy's arrays start a quarter of a cache line later, so loops that write several rows at a time
    would write partial cache lines.
    """
    if not is_large(shape, dtype):
        return np.empty(shape, dtype)
    count = prod(shape)
    check_memory(count * dtype.itemsize, "a result")
    storage = np.empty(count + CACHE_LINE // dtype.itemsize, dtype)
    start = -address(storage) % CACHE_LINE // dtype.itemsize
    return storage[start : start + count].reshape(shape)


def as_array(value: Any, name: str) -> Array:
    """Return `value` as a NumPy array, without a copy if possible."""
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
            return _copy_array(value, name, error)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise UserError(
        f"argument {name}: expected an array, but found {type(value).__name__}; "
        "use numpy.asarray with the right dtype"
    )


def _copy_array(value: Any, name: str, reason: Exception) -> Array:
    """Copy an array that NumPy cannot share memory with, such as a JAX array on a GPU."""
    try:
        copy = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        copy = None
    if copy is None or copy.dtype == object:
        raise UserError(f"argument {name}: this array cannot be read here: {reason}") from None
    return copy


def refuse_masked(value: Any, name: str) -> None:
    """Reject masked arrays, since programs ignore masks."""
    if isinstance(value, np.ma.MaskedArray):
        raise UserError(
            f"argument {name}: a masked array cannot be passed, since its mask would be ignored; "
            "pass .filled(value) to replace masked elements, or .data to use all elements"
        )


_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "f": (int, float, np.integer, np.floating),
    "V": (int, float, np.integer, np.floating),  # those of ml_dtypes
    "i": (int, np.integer),
    "u": (int, np.integer),
    "b": (bool, np.bool_),
    "c": (int, float, complex, np.number),
}


def exact_scalar(value: Any, dtype: np.dtype[Any]) -> Array | None:
    """Return a scalar as a 0-dimensional array; None if `value` is not a scalar of this type."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 0 and value.dtype == dtype else None
    is_number = isinstance(value, _PYTHON_TYPES[dtype.kind]) or type(value) is dtype.type
    if not is_number or (isinstance(value, bool | np.bool_) and dtype.kind != "b"):
        return None
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        return None


def scalar_array(value: Any, element: str, name: str) -> Array:
    """Return an argument that is a scalar as a 0-dimensional array."""
    exact = exact_scalar(value, dtype_named(element))
    if exact is None:
        raise UserError(
            f"argument {name}: expected a scalar of type {element}, but found {value!r}"
        )
    return exact


def check_dtype(array: Array, element: str, name: str) -> None:
    """Check the dtype of an array of elements whose type has this name."""
    expected = dtype_named(element)
    if array.dtype != expected:
        raise UserError(
            f"argument {name}: expected dtype {expected} ({element}), but found {array.dtype}"
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


class CopyWarning(UserWarning):
    """An argument is copied at each call, because compiled code reads contiguous arrays."""


def contiguous_copy(array: Array, name: str) -> Array:
    """Return an array that is only read, copied if it is not contiguous and aligned."""
    flags = array.flags
    if isinstance(array, DeviceView) or (flags.c_contiguous and flags.aligned):
        return array
    reason = "not aligned" if flags.c_contiguous else f"not C-contiguous (strides {array.strides})"
    warnings.warn(
        f"argument {name} is {reason}, so each call copies it; pass numpy.ascontiguousarray(...) "
        "to copy it once",
        CopyWarning,
        stacklevel=own_frame_count() + 1,
    )
    return np.require(array, requirements=["C", "A"])


def check_indices(array: Array, bound: int, name: str) -> None:
    """Check the indices that a caller passes; compiled code assumes that they are in range."""
    if isinstance(array, DeviceView):
        raise UserError(
            f"argument {name}: indices are checked on the CPU before a program runs, but this "
            "array is on a GPU; pass a NumPy array"
        )
    wrong = array[(array < 0) | (array >= bound)]
    if wrong.size:
        raise UserError(
            f"argument {name}: expected indices in [0, {bound}), but found {wrong.flat[0]}"
        )
