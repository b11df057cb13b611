"""The element types of ONNX, and those that hold them here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.support.errors import LimitationError

ELEMENTS: Mapping[str, str] = {
    "FLOAT": "f32", "UINT8": "ui8", "INT8": "i8", "UINT16": "ui16", "INT16": "i16",
    "INT32": "i32", "INT64": "i64", "BOOL": "i1", "FLOAT16": "f16", "DOUBLE": "f64",
    "UINT32": "ui32", "UINT64": "ui64", "COMPLEX64": "complex<f32>", "COMPLEX128": "complex<f64>",
    "BFLOAT16": "bf16",
}  # fmt: skip


@dataclass(frozen=True)
class SmallFloat:
    """A float of 8 bits or less, held by f32."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    greatest: float
    has_infinity: bool = False
    has_nan: bool = True
    has_sign: bool = True

    @property
    def holder(self) -> str:
        return "f32"


@dataclass(frozen=True)
class SmallInteger:
    """An integer of less than 8 bits, held by one of 8."""

    bits: int
    is_signed: bool

    @property
    def holder(self) -> str:
        return "i8" if self.is_signed else "ui8"

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def greatest(self) -> int:
        return self.least + (1 << self.bits) - 1


SMALL_TYPES: Mapping[str, SmallFloat | SmallInteger] = {
    "FLOAT8E4M3FN": SmallFloat(4, 3, 7, 448.0),
    "FLOAT8E4M3FNUZ": SmallFloat(4, 3, 8, 240.0),
    "FLOAT8E5M2": SmallFloat(5, 2, 15, 57344.0, has_infinity=True),
    "FLOAT8E5M2FNUZ": SmallFloat(5, 2, 16, 57344.0),
    "FLOAT4E2M1": SmallFloat(2, 1, 1, 6.0, has_nan=False),
    "FLOAT8E8M0": SmallFloat(8, 0, 127, 2.0**127, has_sign=False),
    "INT4": SmallInteger(4, True),
    "UINT4": SmallInteger(4, False),
    "INT2": SmallInteger(2, True),
    "UINT2": SmallInteger(2, False),
}
"""Types that programs hold in larger ones, and arrays of their own outside."""


def onnx_package() -> Any:
    return importlib.import_module("onnx")


def type_name(number: int) -> str:
    """Return the name of an element type."""
    try:
        return onnx_package().TensorProto.DataType.Name(number)
    except ValueError:
        raise LimitationError(f"there is no element type {number}") from None


def element_of_type(name: str) -> tuple[str, str]:
    """Return the element type that holds an ONNX type, and its name if it is a small one."""
    if name in ELEMENTS:
        return ELEMENTS[name], ""
    if name in SMALL_TYPES:
        return SMALL_TYPES[name].holder, name
    raise LimitationError(f"{name.lower()} elements are not supported")


def type_of_element(element: str, small_type: str = "") -> int:
    """Return the number of the ONNX type of an element type."""
    name = small_type or next((name for name, held in ELEMENTS.items() if held == element), "")
    if not name:
        raise LimitationError(f"{element} elements are not supported in ONNX models")
    return onnx_package().TensorProto.DataType.Value(name)


def small_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a small type."""
    return np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(
        onnx_package().TensorProto.DataType.Value(name)
    ))  # fmt: skip
