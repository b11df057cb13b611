"""LAPACK's decompositions in StableHLO models beside those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

KINDS = {"d": "f64", "F": "complex<f32>"}


def call(target: str, types: list[str], results: list[str], attributes: str = "") -> str:
    """A function that applies a custom call to its arguments."""
    parameters = ", ".join(f"%x{k}: {each}" for k, each in enumerate(types))
    names = ", ".join(f"%x{k}" for k in range(len(types)))
    shown = ", ".join(f"%0#{k}" for k in range(len(results))) if len(results) > 1 else "%0"
    count = f":{len(results)}" if len(results) > 1 else ""
    all_results = ", ".join(results)
    return f"""func.func @main({parameters}) -> ({all_results}) {{
  %0{count} = stablehlo.custom_call @lapack_{target}_ffi({names})
    {{mhlo.backend_config = {{{attributes}}}, api_version = 4 : i32}}
    : ({", ".join(types)}) -> ({all_results})
  return {shown} : {all_results}
}}"""


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def matrix(shape: tuple[int, ...], type: str) -> Any:
    random = np.random.default_rng(1)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if type in "FD" else x).astype(type)


def adjoint(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("type", KINDS)
def test_qr(type: str) -> None:
    element, a = KINDS[type], matrix((2, 5, 3), type)
    given, taus = tensor(a.shape, element), tensor((2, 3), element)
    letter = "d" if type == "d" else "c"
    packed, factors = rl.from_stablehlo(call(letter + "geqrf", [given], [given, taus]))(a)
    form = "dorgqr" if type == "d" else "cungqr"
    q = rl.from_stablehlo(call(form, [given, taus], [given]))(packed, factors)
    expected = np.linalg.qr(a)
    np.testing.assert_allclose(q, expected.Q, atol=1e-5)
    np.testing.assert_allclose(np.triu(packed[:, :3]), expected.R, atol=1e-5)


@pytest.mark.parametrize("type", KINDS)
@pytest.mark.parametrize("mode", ["V", "N"])
def test_eigh(mode: str, type: str) -> None:
    element, a = KINDS[type], matrix((4, 4), type)
    target = "dsyevd" if type == "d" else "cheevd"
    real = "f64" if type == "d" else "f32"
    results = [tensor((4, 4), element), tensor((4,), real), tensor((), "i32")]
    attributes = f"mode = {ord(mode)} : ui8, uplo = {ord('L')} : ui8"
    model = rl.from_stablehlo(call(target, [tensor((4, 4), element)], results, attributes))
    vectors, values, info = model(a)
    own = np.tril(a, -1) + adjoint(np.tril(a, -1)) + np.diag(np.real(np.diag(a)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-5)
    assert info == 0
    if mode == "V":
        np.testing.assert_allclose(own @ vectors, vectors * values, atol=1e-5)


@pytest.mark.parametrize("mode", ["A", "S", "N"])
def test_svd(mode: str) -> None:
    a = matrix((5, 3), "d")
    columns = 3 if mode == "S" else 5
    results = [tensor((5, 3), "f64"), tensor((3,), "f64"), tensor((5, columns), "f64")]
    results += [tensor((3, 3), "f64"), tensor((), "i32")]
    text = call("dgesdd", [tensor((5, 3), "f64")], results, f"mode = {ord(mode)} : ui8")
    _, values, u, v, info = rl.from_stablehlo(text)(a)
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False), atol=1e-13)
    assert info == 0
    if mode != "N":
        np.testing.assert_allclose((u[:, :3] * values) @ v, a, atol=1e-13)
        np.testing.assert_allclose(u.T @ u, np.eye(columns), atol=1e-13)


def test_empty_matrices() -> None:
    results = [tensor((0, 0), "f64"), tensor((0,), "f64"), tensor((), "i32")]
    text = call("dsyevd", [tensor((0, 0), "f64")], results, "mode = 86 : ui8, uplo = 76 : ui8")
    vectors, values, _ = rl.from_stablehlo(text)(np.zeros((0, 0)))
    assert vectors.shape == (0, 0)
    assert values.shape == (0,)


def test_an_unknown_mode_is_refused() -> None:
    results = [tensor((2, 2), "f64"), tensor((2,), "f64"), tensor((), "i32")]
    text = call("dsyevd", [tensor((2, 2), "f64")], results, "mode = 88 : ui8, uplo = 76 : ui8")
    with pytest.raises(rl.LimitationError, match="its mode is not one of N, V"):
        rl.from_stablehlo(text)
