"""Math functions of kernels: computed by arith ops, emulated, beside the math library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.support.config import Options
from support.emulated_gpu import Emulate
from support.numpy_scalars import Array

COUNT = 100
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e308, -1e308,
    0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e-20, 1e20, 709.7, 710.4, -745.0, -746.0, 2.0**53,
    2.0**53 + 2, 2.0**52 + 1, math.pi, math.pi / 2, 1.5, -2.5, 0.9999999999999999,
    6381956970095103.0 * 2.0**797,  # very close to a multiple of pi / 2
)  # fmt: skip
RANGES = {"exp": 700, "exp2": 1000, "expm1": 700, "sinh": 700, "cosh": 700, "erf": 6, "tanh": 20,
          "asin": 1, "acos": 1}  # fmt: skip
FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "erf": np.vectorize(math.erf, otypes=[float]), "cbrt": np.cbrt,
    "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip
BINARY = ("pow", "atan2")
ULPS = 2
"""The largest difference from the exact results, in ulp."""


def arguments(name: str) -> list[Array]:
    source = np.random.default_rng(7)
    if name in BINARY:
        pairs = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
        usual = np.exp(source.uniform(-20, 20, (2, COUNT)))
        return list(np.concatenate([pairs, usual], 1))
    size = RANGES.get(name, 30)
    wide = np.exp(source.uniform(-200, 200, COUNT)) * source.choice([-1, 1], COUNT)
    parts = [SPECIAL, source.uniform(-size, size, COUNT), source.uniform(-1.5, 1.5, COUNT), wide]
    return [np.concatenate([parts[0], *parts])]


def program(name: str, type: str, count: int) -> TermKernel:
    text = f"fun((x : {count}.{type}), x |> mapPar(fun(e, {name}(e))))"
    if name in BINARY:
        text = f"fun((x : {count}.{type}, y : {count}.{type}), zip(x, y) "
        text += f"|> mapPar(fun(p, {name}(fst(p), snd(p)))))"
    return TermKernel("f", parse_term(text), options=Options("gpu"), strategy=None)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sampled(2)
def test_functions_of_f64_differ_in_the_last_bits_at_most(name: str, emulate: Emulate) -> None:
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("there is no reference with more bits")
    values = arguments(name)
    kernel = program(name, "f64", len(values[0]))
    emulate(kernel.lower()).runs_threads_in_turn = True
    found = kernel(*values)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](*(each.astype(np.longdouble) for each in values))
        expected = exact.astype(np.float64)
        distance = np.abs(found - exact) <= ULPS * np.spacing(np.abs(expected))
    is_same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    is_right = is_same | distance | np.isnan(found) & np.isnan(expected)
    assert is_right.all(), [each[~is_right][:4] for each in (*values, found, expected)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sampled(1)
def test_functions_of_f32_are_rounded_once(name: str, emulate: Emulate) -> None:
    with np.errstate(all="ignore"):
        values = [each.astype(np.float32) for each in arguments(name)]
        expected = FUNCTIONS[name](*(each.astype(np.float64) for each in values))
        expected = expected.astype(np.float32)
    kernel = program(name, "f32", len(values[0]))
    emulate(kernel.lower()).runs_threads_in_turn = True
    assert np.array_equal(kernel(*values), expected, equal_nan=True)


@pytest.mark.rotating(3)
def test_vectors_and_short_floats_are_computed(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    text = "fun((x : 2.64.f16, y : 2.64.f32), zip(x, y) |> map(fun(p, zip(fst(p), snd(p)) "
    text += "|> map(fun(q, (sin(fst(q)), exp(snd(q))))))))"
    kernel = TermKernel("f", parse_term(text), options=Options("gpu"))
    emulate(kernel.lower())
    x = np.linspace(-9, 9, 128).reshape(2, 64)
    sines, powers = kernel(x.astype(np.float16), x.astype(np.float32))
    expected = np.sin(x.astype(np.float16).astype(np.float64)).astype(np.float16)
    assert np.array_equal(sines, expected)
    assert np.array_equal(
        powers, np.exp(x.astype(np.float32).astype(np.float64)).astype(np.float32)
    )
    ptx = kernel.lower().as_text("ptx")
    assert "fma.rn.f64" in ptx
    assert ".extern" not in ptx
    assert ".approx" not in ptx
