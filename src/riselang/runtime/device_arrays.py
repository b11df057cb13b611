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
from riselang.support.element_types import BF16, dtype_named
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
    given = getattr(value, INTERFACE)
    base_address, is_read_only = given["data"]
    shape, dtype = tuple(given["shape"]), np.dtype(given["typestr"])
    if dtype == np.dtype("V2"):
        dtype = dtype_named(BF16)  # NumPy has no name for it
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


def is_on_gpu(value: Any) -> bool:
    return hasattr(value, INTERFACE)


def new_device_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceView:
    """Allocate an array for results on the GPU."""
    return device_view(DeviceArray(shape, dtype), "out")


@dataclass(frozen=True)
class _Integers:
    """An array of 2-byte elements as integers, for libraries that cannot name its dtype."""

    array: Any

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**getattr(self.array, INTERFACE), "typestr": "<i2"}


def _to_tensor(torch: Any, result: Any) -> Any:
    """Convert a result to a PyTorch tensor, without a copy."""
    if np.dtype(getattr(result, INTERFACE)["typestr"]) != np.dtype("V2"):
        return torch.as_tensor(result, device="cuda")
    return torch.as_tensor(_Integers(result), device="cuda").view(torch.bfloat16)


def to_argument_library(arguments: Sequence[Any], result: Any) -> Any:
    """Convert results to arrays of the library of the arguments, without a copy."""
    if isinstance(result, tuple):
        return tuple(to_argument_library(arguments, part) for part in result)
    for argument in arguments:
        package = type(argument).__module__.partition(".")[0]
        if package == "torch" and is_on_gpu(argument):
            return _to_tensor(sys.modules[package], result)
        if package == "cupy" and is_on_gpu(argument):
            return sys.modules[package].asarray(result)
    return result
