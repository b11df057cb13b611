"""Arrays in GPU memory."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from riselang.native import cuda
from riselang.runtime.arrays import Array, DeviceView, address, refuse_masked
from riselang.support.element_types import BF16, ML_DTYPES, dtype_by_name, dtype_named
from riselang.support.errors import UserError

ALIGNMENT = 16
"""The alignment that kernels expect of arrays, in bytes; other arrays are copied."""
INTERFACE = "__cuda_array_interface__"
"""The attribute of PyTorch, CuPy and Numba arrays that are on a GPU."""


class DeviceArray:
    """A contiguous array on the GPU."""

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]):
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        driver = cuda.driver()
        with driver.make_current():
            self.address = driver.allocate(max(self.nbytes, 1))
        weakref.finalize(self, _free, driver, self.address)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
        }

    def numpy(self) -> Array:
        """Return a copy in host memory."""
        copy = np.empty(self.shape, self.dtype)
        driver = cuda.driver()
        with driver.make_current():
            driver.copy_out(address(copy), self.address, self.nbytes)
        return copy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a GPU cannot be read without a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape}, {self.dtype})"


def _free(driver: cuda.Driver, address: int) -> None:
    with driver.make_current():
        driver.free(address)


def to_gpu(array: Any) -> DeviceArray:
    """Copy an array to GPU memory."""
    refuse_masked(array, "array")
    source = np.ascontiguousarray(array)
    copy = DeviceArray(source.shape, source.dtype)
    driver = cuda.driver()
    with driver.make_current():
        driver.copy_in(copy.address, address(source), source.nbytes)
    return copy


def device_view(value: Any, name: str) -> DeviceView:
    """Return a view of an array on a GPU with its address, shape and dtype."""
    given, dtype = _description(value)
    base_address, is_read_only = given["data"]
    shape = tuple(given["shape"])
    memory: Any = (ctypes.c_char * max(prod(shape) * dtype.itemsize, 1)).from_address(
        base_address or 1
    )
    array = DeviceView(shape, dtype, memory)
    if given.get("strides") not in (None, array.strides):
        raise UserError(
            f"argument {name}: expected a C-contiguous array, but its strides are "
            f"{given['strides']}; make a contiguous copy on the GPU"
        )
    array.flags.writeable = not is_read_only
    array.owner = value
    return array


def _description(value: Any) -> tuple[dict[str, Any], np.dtype[Any]]:
    """Return the interface of an array on a GPU, and its dtype, which may have no name there."""
    if isinstance(value, DeviceArray):
        return getattr(value, INTERFACE), value.dtype
    name = _unnamed_dtype(value)
    if name:
        dtype = dtype_by_name(name)
        torch = sys.modules["torch"]
        integers = value.view(torch.uint8 if dtype.itemsize == 1 else torch.int16)
        return getattr(integers, INTERFACE), dtype
    given = getattr(value, INTERFACE)
    dtype = np.dtype(given["typestr"])
    return given, dtype_named(BF16) if dtype == np.dtype("V2") else dtype


def _unnamed_dtype(value: Any) -> str:
    """Return the name of a tensor's dtype, if the interface has none for it; else an empty text.

    PyTorch raises an error for some of them.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor) or value.requires_grad:
        return ""  # the interface refuses tensors that require gradients
    name = str(value.dtype).removeprefix("torch.")
    return name if name in ML_DTYPES and value.device.type == "cuda" else ""


def is_on_gpu(value: Any) -> bool:
    return bool(_unnamed_dtype(value)) or hasattr(value, INTERFACE)


def new_device_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceView:
    """Allocate an array for results on the GPU."""
    return device_view(DeviceArray(shape, dtype), "out")


@dataclass(frozen=True)
class _Integers:
    """An array as integers of the same size, for libraries that cannot name its dtype."""

    array: DeviceArray

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        bytes = self.array.dtype.itemsize
        return {**getattr(self.array, INTERFACE), "typestr": "|u1" if bytes == 1 else f"<i{bytes}"}


def _to_tensor(torch: Any, result: DeviceArray) -> Any:
    """Convert a result to a PyTorch tensor, without a copy."""
    name = result.dtype.name
    if name not in ML_DTYPES:
        return torch.as_tensor(result, device="cuda")
    return torch.as_tensor(_Integers(result), device="cuda").view(getattr(torch, name))


def to_argument_library(arguments: Sequence[Any], result: Any) -> Any:
    """Convert results to arrays of the library of the arguments, without a copy."""
    if isinstance(result, tuple):
        return tuple(to_argument_library(arguments, part) for part in result)
    if not isinstance(result, DeviceArray):
        return result  # it is an array of that library
    for argument in arguments:
        package = type(argument).__module__.partition(".")[0]
        if package == "torch" and is_on_gpu(argument):
            return _to_tensor(sys.modules[package], result)
        if package == "cupy" and is_on_gpu(argument):
            return sys.modules[package].asarray(result)
    return result
