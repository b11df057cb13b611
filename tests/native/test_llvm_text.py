"""Float constants keep their bits on the way from the newer LLVM's text to the older LLVM."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import riselang as rl
from riselang.native import code_loading
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import ir_text

CASES = {
    "ret float 1.000000e-01": "ret float 0x3FB99999A0000000",
    "ret float f0x4B800000": "ret float 0x4170000000000000",
    "ret float +inf": "ret float 0x7FF0000000000000",
    "ret double -inf": "ret double 0xFFF0000000000000",
    "ret float -nan(0x12345)": "ret float 0xFFF82468A0000000",
    "ret half +qnan": "ret half 0xH7E00",
    "ret half 9.997550e-02": "ret half 0xH2E66",
    "ret bfloat +snan(0x1)": "ret bfloat 0xR7F81",
    "ret float 1.401300e-45": "ret float 0x36A0000000000000",
    "phi double [ %4, %5 ], [ -inf, %6 ]": "phi double [ %4, %5 ], [ 0xFFF0000000000000, %6 ]",
    "%1 = fadd float %0, -0.000000e+00": "%1 = fadd float %0, 0x8000000000000000",
    "(float 1.0, double 2.0)": "(float 0x3FF0000000000000, double 0x4000000000000000)",
    "%x1.5 = add i32 %y, 1": "%x1.5 = add i32 %y, 1",
    "; float 1.5": "; float 1.5",
}


@pytest.mark.parametrize(("before", "after"), CASES.items())
def test_constants_are_spelled_by_their_bits(before: str, after: str) -> None:
    assert ir_text.convert_for_llvmlite(before) == after


COPIES = """
define void @copy(ptr %0, ptr %1) {
  %3 = load bfloat, ptr %0, align 2
  store bfloat %3, ptr %1, align 2
  %4 = load half, ptr %0, align 2
  %5 = fadd half %4, %4
  store half %4, ptr %1, align 2
  store half %5, ptr %1, align 2
  ret void
}

define void @add(ptr %0, ptr %1) {
  %3 = load bfloat, ptr %0, align 2
  %4 = fpext bfloat %3 to float
  store float %4, ptr %1, align 4
  ret void
}
"""


def test_short_floats_that_are_only_copied_are_moved_as_integers() -> None:
    expected = COPIES.replace(
        "%3 = load bfloat, ptr %0, align 2\n  store bfloat",
        "%3 = load i16, ptr %0, align 2\n  store i16",
    )
    assert expected != COPIES
    assert ir_text.convert_for_llvmlite(COPIES) == expected


def test_bits_are_stored_as_bytes() -> None:
    text = "  store i1 %3, ptr %1, align 1\n  store i1 false, ptr %2, align 1"
    assert ir_text.convert_for_llvmlite(text) == (
        "  %stored.0 = zext i1 %3 to i8\n  store i8 %stored.0, ptr %1, align 1\n"
        "  %stored.1 = zext i1 false to i8\n  store i8 %stored.1, ptr %2, align 1"
    )


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32))
def test_a_decimal_becomes_the_nearest_float(value: float) -> None:
    if value != value or abs(value) == np.inf:
        return
    text = ir_text.convert_for_llvmlite(f"ret float {value:.12e}")
    expected = np.float64(np.float32(value)).view(np.uint64)
    assert text == f"ret float 0x{int(expected):016X}"


def test_library_functions_are_not_looked_into() -> None:
    text = ir_text.convert_for_llvmlite(
        "declare float @expf(float)\ndeclare float @llvm.sqrt.f32(float)"
    )
    assert "@expf(float) nobuiltin" in text
    assert "sqrt.f32(float) nobuiltin" not in text


VALUES = [0.1, 1 / 3, 1e-7, 65504.0, np.inf, -np.inf, np.nan, -0.0, 1e-45, 2049.0]


@pytest.mark.parametrize(
    ("type", "dtype"),
    [(rl.f16, np.float16), (rl.bf16, ml_dtypes.bfloat16), (rl.f32, np.float32), (rl.f64, float)],
    ids=str,
)
def test_literals_arrive_in_machine_code(type: object, dtype: type) -> None:
    for value in VALUES:

        def constant(x):
            return x | rl.map(lambda a: rl.where(a == a, value, a))  # noqa: B023

        constant.__annotations__ = {"x": rl.Array[1, type]}
        with np.errstate(all="ignore"):
            expected = np.array([value]).astype(dtype)
        result = rl.jit(constant)(np.zeros(1, dtype))
        assert result.tobytes() == expected.tobytes() or value != value


def test_code_stays_loaded_as_long_as_it_is_used() -> None:
    code = code_loading.load_objects([llvm.jit_object("define i32 @seven() {\n  ret i32 7\n}")])
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(code.address("seven"))() == 7
