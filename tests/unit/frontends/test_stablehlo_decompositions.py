"""LAPACK's decompositions in StableHLO models beside those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

pytestmark = pytest.mark.rotating(6)

KINDS = {"f": "f32", "d": "f64", "F": "complex<f32>", "D": "complex<f64>"}
REAL = {"f": "f32", "d": "f64", "F": "f32", "D": "f64"}
QR = {
    "f": ("lapack_sgeqrf_ffi", "lapack_sorgqr_ffi"),
    "d": ("lapack_dgeqrf_ffi", "lapack_dorgqr_ffi"),
    "F": ("lapack_cgeqrf_ffi", "lapack_cungqr_ffi"),
    "D": ("lapack_zgeqrf_ffi", "lapack_zungqr_ffi"),
}
EIGH = {
    "f": "lapack_ssyevd_ffi", "d": "lapack_dsyevd_ffi",
    "F": "lapack_cheevd_ffi", "D": "lapack_zheevd_ffi",
}  # fmt: skip
SVD = {
    "f": "lapack_sgesdd_ffi", "d": "lapack_dgesdd_ffi",
    "F": "lapack_cgesdd_ffi", "D": "lapack_zgesdd_ffi",
}  # fmt: skip
TOLERANCE = {"f": 1e-5, "d": 1e-13, "F": 1e-5, "D": 1e-13}


def call(target: str, types: list[str], results: list[str], attributes: str = "") -> str:
    """A function that applies a custom call to its arguments."""
    parameters = ", ".join(f"%x{k}: {each}" for k, each in enumerate(types))
    names = ", ".join(f"%x{k}" for k in range(len(types)))
    shown = ", ".join(f"%0#{k}" for k in range(len(results))) if len(results) > 1 else "%0"
    count = f":{len(results)}" if len(results) > 1 else ""
    all_results = ", ".join(results)
    return f"""func.func @main({parameters}) -> ({all_results}) {{
  %0{count} = stablehlo.custom_call @{target}({names})
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("type", KINDS)
def test_qr(type: str) -> None:
    element, a = KINDS[type], matrix((2, 5, 3), type)
    given, taus = tensor(a.shape, element), tensor((2, 3), element)
    factorize, form = QR[type]
    packed, factors = rl.from_stablehlo(call(factorize, [given], [given, taus]))(a)
    q = rl.from_stablehlo(call(form, [given, taus], [given]))(packed, factors)
    expected = np.linalg.qr(a)
    np.testing.assert_allclose(q, expected.Q, atol=TOLERANCE[type])
    np.testing.assert_allclose(np.triu(packed[:, :3]), expected.R, atol=TOLERANCE[type])


@pytest.mark.parametrize("type", KINDS)
@pytest.mark.parametrize("mode", ["V", "N"])
def test_eigh(mode: str, type: str) -> None:
    element, a = KINDS[type], matrix((4, 4), type)
    results = [tensor((4, 4), element), tensor((4,), REAL[type]), tensor((), "i32")]
    attributes = f"mode = {ord(mode)} : ui8, uplo = {ord('L')} : ui8"
    model = rl.from_stablehlo(call(EIGH[type], [tensor((4, 4), element)], results, attributes))
    vectors, values, info = model(a)
    own = np.tril(a, -1) + adjoint(np.tril(a, -1)) + np.diag(np.real(np.diag(a)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=TOLERANCE[type])
    assert info == 0
    if mode == "V":
        np.testing.assert_allclose(own @ vectors, vectors * values, atol=TOLERANCE[type])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("type", KINDS)
@pytest.mark.parametrize("mode", ["A", "S", "N"])
def test_svd(mode: str, type: str) -> None:
    element, a = KINDS[type], matrix((5, 3), type)
    columns = 3 if mode == "S" else 5
    results = [tensor((5, 3), element), tensor((3,), REAL[type]), tensor((5, columns), element)]
    results += [tensor((3, 3), element), tensor((), "i32")]
    text = call(SVD[type], [tensor((5, 3), element)], results, f"mode = {ord(mode)} : ui8")
    _, values, u, v, info = rl.from_stablehlo(text)(a)
    tolerance = TOLERANCE[type]
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False), atol=tolerance)
    assert info == 0
    if mode != "N":
        np.testing.assert_allclose((u[:, :3] * values) @ v, a, atol=tolerance)
        np.testing.assert_allclose(adjoint(u) @ u, np.eye(columns), atol=tolerance)


def test_empty_matrices() -> None:
    results = [tensor((0, 0), "f64"), tensor((0,), "f64"), tensor((), "i32")]
    text = call(
        "lapack_dsyevd_ffi", [tensor((0, 0), "f64")], results, "mode = 86 : ui8, uplo = 76 : ui8"
    )
    vectors, values, _ = rl.from_stablehlo(text)(np.zeros((0, 0)))
    assert vectors.shape == (0, 0)
    assert values.shape == (0,)


def test_an_unknown_mode_is_refused() -> None:
    results = [tensor((2, 2), "f64"), tensor((2,), "f64"), tensor((), "i32")]
    text = call(
        "lapack_dsyevd_ffi", [tensor((2, 2), "f64")], results, "mode = 88 : ui8, uplo = 76 : ui8"
    )
    with pytest.raises(rl.LimitationError, match="its mode is not one of N, V"):
        rl.from_stablehlo(text)
