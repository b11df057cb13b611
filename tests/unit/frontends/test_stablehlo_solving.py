"""Cholesky's decomposition and triangular systems, compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

BACKENDS = ("interpret", "compile")


def cholesky(shape: tuple[int, ...], lower: bool, element: str = "f32") -> str:
    type = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    return f"""func.func @main(%a: {type}) -> {type} {{
  %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type}
  return %0 : {type}
}}"""


def positive(shape: tuple[int, ...]) -> Any:
    a = np.random.default_rng(0).standard_normal(shape)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4)], ids=str)
def test_cholesky(shape: tuple[int, ...], lower: bool, backend: str) -> None:
    a = positive(shape)
    expected = np.linalg.cholesky(a)
    # Only one triangle counts.
    given = np.where(np.tri(shape[-1]).astype(bool), a, np.nan)
    if not lower:
        given, expected = given.swapaxes(-1, -2), expected.swapaxes(-1, -2)
    model = rl.from_stablehlo(cholesky(shape, lower), backend=backend)
    found = model(np.array(given, np.float32, order="C"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_has_no_decomposition_is_not_a_number() -> None:
    found = rl.from_stablehlo(cholesky((2, 2), True, "f64"))(np.array([[-1.0, 0.0], [0.0, 1.0]]))
    assert np.isnan(found[0, 0])


SIDES = [(left, lower) for left in (True, False) for lower in (True, False)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("left", "lower"), SIDES)
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve(left: bool, lower: bool, transpose: str, unit: bool) -> None:
    random = np.random.default_rng(1)
    shape = (2, 4, 3) if left else (2, 3, 4)
    a, b = random.standard_normal((2, 4, 4)) + 3 * np.eye(4), random.standard_normal(shape)
    types = ["2x4x4xf64", "x".join(map(str, shape)) + "xf64"]
    choices = {"left_side": left, "lower": lower, "unit_diagonal": unit}
    attributes = ", ".join(f"{name} = {str(value).lower()}" for name, value in choices.items())
    text = f"""
func.func @main(%a: tensor<{types[0]}>, %b: tensor<{types[1]}>) -> tensor<{types[1]}> {{
  %0 = "stablehlo.triangular_solve"(%a, %b) {{{attributes},
      transpose_a = #stablehlo<transpose {transpose}>}}
      : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<{types[1]}>
  return %0 : tensor<{types[1]}>
}}"""
    part = np.tri(4) if lower else np.tri(4).T
    counted = np.where(part.astype(bool), a, 0.0)
    if unit:
        counted = counted * (1 - np.eye(4)) + np.eye(4)
    matrix = counted if transpose == "NO_TRANSPOSE" else counted.swapaxes(-1, -2)
    if left:
        expected = np.linalg.solve(matrix, b)
    else:
        expected = np.linalg.solve(matrix.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)
    given = np.where(part.astype(bool), a, np.nan)
    backend = "compile" if left == lower else "interpret"
    found = rl.from_stablehlo(text, backend=backend)(np.ascontiguousarray(given), b)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
