"""Floats of 8 bits: compiled conversions and arithmetic equal those of ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import SCALARS
from riselang.notation.program import parse_term
from riselang.support.config import Options
from support.emulated_gpu import Emulate
from support.numpy_scalars import Array

pytestmark = pytest.mark.rotating(6)

TYPES = {"f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
BYTES = np.arange(256, dtype=np.uint8)
GENERATOR = np.random.default_rng(3)


def program(text: str, type: str, backend: str = "compile", loops: str = "affine") -> TermKernel:
    term = parse_term(text.replace("TYPE", type))
    return TermKernel("f", term, backend=backend, options=Options(loops))


def same_floats(found: Array, expected: Array) -> bool:
    """Whether the bits are equal, except those of NaN."""
    one, other = (each.astype(np.float32) for each in (found, expected))
    signs_agree = (np.signbit(one) == np.signbit(other)) | np.isnan(other)
    return np.array_equal(one, other, equal_nan=True) and bool(np.all(signs_agree))


def run_in_turn(kernel: TermKernel, emulate: Emulate, loops: str) -> None:
    if loops == "gpu":
        emulate(kernel.lower()).runs_threads_in_turn = True


LOOPS = pytest.mark.parametrize("loops", ["affine", "gpu"])


@LOOPS
@pytest.mark.parametrize("type", TYPES)
def test_all_values_become_f32(type: str, loops: str, emulate: Emulate) -> None:
    widen = program("fun((x : 256.TYPE), x |> map(fun(e, cast[f32](e))))", type, loops=loops)
    run_in_turn(widen, emulate, loops)
    x = BYTES.view(TYPES[type])
    assert same_floats(widen(x), x.astype(np.float32))


@LOOPS
@pytest.mark.parametrize("type", TYPES)
def test_f32_is_rounded_to_nearest_even(type: str, loops: str, emulate: Emulate) -> None:
    """Halfway between two values, next to that, too large, too small, and anything."""
    values = BYTES.view(TYPES[type]).astype(np.float32).view(np.int32)
    shift = 20 if type == "f8e4m3fn" else 21
    steps = [n + d for n in (0, 1 << shift - 1, 1 << shift) for d in (-1, 0, 1)]
    near = (values[:, None].astype(np.int64) + np.asarray(steps)).astype(np.int32).ravel()
    small = GENERATOR.standard_normal(2000) * 10.0 ** GENERATOR.integers(-9, 6, 2000)
    anything = GENERATOR.integers(-(1 << 31), 1 << 31, 6000 - near.size, dtype=np.int32)
    x = np.concatenate([near, anything, small.astype(np.float32).view(np.int32)]).view(np.float32)
    text = "fun((x : 8000.f32), x |> map(fun(e, cast[TYPE](e))))"
    narrow = program(text, type, loops=loops)
    run_in_turn(narrow, emulate, loops)
    with np.errstate(all="ignore"):
        assert same_floats(narrow(x), x.astype(TYPES[type]))


ARITHMETIC = (
    "fun((x : 600.TYPE, y : 600.TYPE), zip(x, y) |> map(fun((a, b), "
    "select(a < b, (a + b) * a, max(a, b) / b - sqrt(abs(b)) + 1.5_TYPE))))"
)


@pytest.mark.parametrize("type", TYPES)
def test_arithmetic_is_rounded_in_every_step(type: str, emulate: Emulate) -> None:
    x, y = (GENERATOR.integers(0, 256, 600).astype(np.uint8).view(TYPES[type]) for _ in range(2))
    expected: Any = program(ARITHMETIC, type, "interpret")(x, y)
    assert same_floats(program(ARITHMETIC, type)(x, y), expected)
    kernel = program(ARITHMETIC, type, loops="gpu")
    emulate(kernel.lower())
    assert same_floats(kernel(x, y), expected)
    assert same_floats(kernel(rl.to_gpu(x), rl.to_gpu(y)).numpy(), expected)


@pytest.mark.parametrize(
    ("target", "instruction"), [("sm_80", "shl.b32"), ("sm_90", "cvt.rn.satfinite.e4m3x2.f32")]
)
def test_gpus_with_instructions_use_them(
    target: str, instruction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", target)
    ptx = program(ARITHMETIC, "f8e4m3fn", loops="gpu").lower().as_text("ptx")
    assert instruction in ptx
    assert ("cvt.rn.f16x2.e4m3x2" in ptx) == (target == "sm_90")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("type", TYPES)
def test_every_type_is_converted_to_and_from_them(type: str) -> None:
    x = BYTES.view(TYPES[type])
    for other in (*SCALARS,):
        text = f"fun((x : 256.TYPE), x |> map(fun(e, cast[TYPE](cast[{other}](e)))))"
        expected = program(text, type, "interpret")(x)
        assert same_floats(program(text, type)(x), expected), other


def test_stablehlo_has_them() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %1 = stablehlo.constant dense<[1.0, 0.5, 0x7E, -2.0]> : tensor<4xf8E4M3FN>
  %2 = stablehlo.add %0, %1 : tensor<4xf8E4M3FN>
  %3 = stablehlo.convert %2 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}"""
    x = np.asarray([1.06, 3.0, -1.0, 300.0], np.float32)
    constant: Any = np.asarray([1.0, 0.5, 448.0, -2.0], ml_dtypes.float8_e4m3fn)
    small = x.astype(ml_dtypes.float8_e4m3fn) + constant
    assert np.array_equal(rl.from_stablehlo(text)(x), small.astype(np.float32))
