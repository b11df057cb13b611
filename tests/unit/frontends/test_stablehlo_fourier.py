"""Fourier transforms of StableHLO models beside those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl


def transform(kind: str, lengths: str, given: str, result: str) -> str:
    return f"""func.func @main(%x: tensor<{given}>) -> tensor<{result}> {{
  %0 = stablehlo.fft %x, type = {kind}, length = [{lengths}] : (tensor<{given}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


CASES = [
    ("FFT", "12", "2x12xcomplex<f32>", "2x12xcomplex<f32>", np.fft.fft),
    ("IFFT", "3, 4", "2x3x4xcomplex<f64>", "2x3x4xcomplex<f64>", np.fft.ifft2),
    ("RFFT", "7", "3x7xf64", "3x4xcomplex<f64>", np.fft.rfft),
    ("RFFT", "4, 6", "4x6xf32", "4x4xcomplex<f32>", np.fft.rfft2),
    ("IRFFT", "8", "3x5xcomplex<f32>", "3x8xf32", np.fft.irfft),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["interpret", "compile"])
@pytest.mark.parametrize(("kind", "lengths", "given", "result", "expected"), CASES)
def test_fft(kind: str, lengths: str, given: str, result: str, expected: Any, backend: str) -> None:
    *sizes, element = given.split("x")
    element = element if "complex" not in given else given[given.index("complex") :]
    shape = [int(each) for each in sizes if each.isdigit()]
    random = np.random.default_rng(1)
    x = random.standard_normal(shape)
    if "complex" in given:
        x = x + 1j * random.standard_normal(shape)
    x = x.astype({"f32": "f", "f64": "d", "complex<f32>": "F", "complex<f64>": "D"}[element])
    found = rl.from_stablehlo(transform(kind, lengths, given, result), backend=backend)(x)
    assert found.dtype == expected(x).dtype
    np.testing.assert_allclose(found, expected(x), atol=1e-5 if "32" in element else 1e-13)


def test_complex_numbers_are_converted() -> None:
    model = rl.from_stablehlo("""func.func @main(%x: tensor<2xcomplex<f64>>) -> tensor<2xf32> {
  %0 = stablehlo.convert %x : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f32>>
  %1 = stablehlo.convert %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
    assert model(np.array([1 + 2j, -3j])).tolist() == [1, 0]
