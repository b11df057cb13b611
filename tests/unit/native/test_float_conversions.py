"""The conversions of 16-bit floats for CPUs without an instruction: every half, and many others."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import llvmlite.binding as binding
import ml_dtypes
import numpy as np
import pytest

from riselang.native import code_loading
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm.ir_text import FLOAT_FORMATS, _nearest_float_bits

pytestmark = pytest.mark.rotating(6)

CALLS = """
define i16 @{name}({wide} %x) {{
  %narrow = call {narrow} @{function}({wide} %x)
  %bits = bitcast {narrow} %narrow to i16
  ret i16 %bits
}}
"""
WIDEN = """
define float @widen(i16 %x) {
  %half = bitcast i16 %x to half
  %float = call float @__extendhfsf2(half %half)
  ret float %float
}
"""
NARROW = {
    "sfhf": ("float", "half", ctypes.c_float, np.float16),
    "dfhf": ("double", "half", ctypes.c_double, np.float16),
    "sfbf": ("float", "bfloat", ctypes.c_float, ml_dtypes.bfloat16),
    "dfbf": ("double", "bfloat", ctypes.c_double, ml_dtypes.bfloat16),
}
Functions = dict[str, Callable[[Any], Any]]


@pytest.fixture(scope="module")
def functions() -> Functions:
    """Each function under a name of our own, so that no instruction takes its place."""
    calls = [
        CALLS.format(name=name, wide=wide, narrow=narrow, function=f"__trunc{name}2")
        for name, (wide, narrow, _, _) in NARROW.items()
    ]
    text = "\n".join([llvm.float_conversions(), *calls, WIDEN])
    code = code_loading.load_objects([llvm.jit_object(text)])
    keep = {"code": code}
    found: Functions = {
        name: ctypes.CFUNCTYPE(ctypes.c_uint16, kind)(code.address(name))
        for name, (_, _, kind, _) in NARROW.items()
    }
    found["widen"] = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_uint16)(code.address("widen"))
    found["keep"] = keep.get
    return found


def halves() -> np.ndarray[Any, Any]:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def floats() -> np.ndarray[Any, Any]:
    """Numbers near halves and in the middle between two, and any bits."""
    with np.errstate(all="ignore"):
        near = halves().astype(np.float32)[::7]
        middle = (near[:-1] + near[1:]) / 2
        random = np.random.default_rng(0)
        bits = random.integers(0, 1 << 32, 4000, dtype=np.uint32).view(np.float32)
        around = [np.nextafter(near, np.float32(end)) for end in (np.inf, -np.inf)]
        return np.concatenate([near, middle, bits, *around]).astype(np.float32)


def doubles() -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        near = floats()[::3].astype(np.float64)
        random = np.random.default_rng(1)
        bits = random.integers(0, 1 << 63, 4000, dtype=np.int64).view(np.float64)
        return np.concatenate([near, *(np.nextafter(near, end) for end in (np.inf, -np.inf)), bits])


def test_every_half_is_widened(functions: Functions) -> None:
    expected = halves().astype(np.float32)
    found = np.array([functions["widen"](bits) for bits in range(1 << 16)], np.float32)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    assert np.all(same | (np.isnan(found) & np.isnan(expected)))


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.sampled(1)
def test_floats_are_narrowed_to_the_nearest(functions: Functions, name: str) -> None:
    wide, narrow, _, dtype = NARROW[name]
    for value in (floats() if wide == "float" else doubles()).tolist():
        found = functions[name](value)
        if np.isnan(value):
            assert np.isnan(np.uint16(found).view(dtype).astype(np.float32))
        elif np.isinf(value):
            assert found == (np.signbit(value) << 15 | int(np.array(np.inf, dtype).view(np.uint16)))
        else:
            assert found == nearest(value, narrow), value


def nearest(value: float, narrow: str) -> int:
    """By exact arithmetic; what is too large becomes infinity."""
    format = FLOAT_FORMATS[narrow]
    infinity = ((1 << format.exponent) - 1) << format.mantissa
    bits = _nearest_float_bits(Fraction(abs(value)), False, format)
    return min(bits, infinity) | int(np.signbit(value)) << 15


def test_conversions_stay_out_of_code_without_short_floats() -> None:
    ir = "define float @f(float %x) {\n  ret float %x\n}"
    assert b"__truncdfhf2" not in llvm.jit_object(ir)
    assert binding.parse_assembly(llvm.float_conversions())
