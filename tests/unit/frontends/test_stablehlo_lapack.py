"""Calls of LAPACK, as JAX makes them for processors, compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.errors import LimitationError

BACKENDS = ("interpret", "compile")


def call(name: str, letters: str, operands: list[str], results: list[str]) -> str:
    """A program of one call; letters are given as `uplo=L side=R`."""
    config = ", ".join(
        f"{key} = {ord(letter)} : ui8"
        for key, letter in (each.split("=") for each in letters.split())
    )
    types = [f"tensor<{each}>" for each in results]
    arguments = ", ".join(f"%a{at}: tensor<{each}>" for at, each in enumerate(operands))
    names = ", ".join(f"%a{at}" for at in range(len(operands)))
    given = ", ".join(f"tensor<{each}>" for each in operands)
    found = ", ".join(f"%0#{at}" if len(types) > 1 else "%0" for at in range(len(types)))
    count = f":{len(types)}" if len(types) > 1 else ""
    return f"""func.func @main({arguments}) -> ({", ".join(types)}) {{
  %0{count} = stablehlo.custom_call @{name}({names}) {{mhlo.backend_config = {{{config}}}}}
    : ({given}) -> ({", ".join(types)})
  return {found} : {", ".join(types)}
}}"""


def run(text: str, backend: str, *arguments: Any) -> Any:
    return rl.from_stablehlo(text, backend=backend)(*map(np.ascontiguousarray, arguments))


def positive(*shape: int) -> Any:
    a = np.random.default_rng(0).standard_normal(shape)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_potrf_keeps_the_other_triangle(uplo: str, backend: str) -> None:
    a = positive(2, 4, 4)
    text = call("lapack_dpotrf_ffi", f"uplo={uplo}", ["2x4x4xf64"], ["2x4x4xf64", "2xi32"])
    found, info = run(text, backend, a)
    lower = np.linalg.cholesky(a)
    triangle = lower if uplo == "L" else lower.swapaxes(-1, -2)
    kept = np.tri(4).astype(bool) if uplo == "L" else np.tri(4).T.astype(bool)
    np.testing.assert_allclose(found, np.where(kept, triangle, a), rtol=1e-9)
    assert info.dtype == np.int32
    assert not info.any()


@pytest.mark.parametrize(("bad", "number"), [(-1.0, 2), (0.0, 2), (np.nan, 2)])
def test_potrf_says_which_minor_is_not_positive(bad: float, number: int) -> None:
    text = call("lapack_spotrf_ffi", "uplo=L", ["3x3xf32"], ["3x3xf32", "i32"])
    _, info = run(text, "compile", np.diag([4.0, bad, 9.0]).astype(np.float32))
    assert info == number


@pytest.mark.sampled(3)
@pytest.mark.parametrize("side", ["L", "R"])
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize(("trans", "diag"), [("N", "N"), ("T", "U"), ("C", "N")])
def test_trsm(side: str, uplo: str, trans: str, diag: str) -> None:
    shape = (4, 3) if side == "L" else (3, 4)
    a = np.random.default_rng(1).standard_normal((4, 4)) + 3 * np.eye(4)
    b = np.random.default_rng(2).standard_normal(shape)
    letters = f"side={side} uplo={uplo} trans_x={trans} diag={diag}"
    types = ["4x4xf64", f"{shape[0]}x{shape[1]}xf64"]
    found = run(call("lapack_dtrsm_ffi", letters, types, types[1:]), "compile", a, b)
    matrix = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        np.fill_diagonal(matrix, 1.0)
    matrix = matrix if trans == "N" else matrix.T
    product = matrix @ found if side == "L" else found @ matrix
    np.testing.assert_allclose(product, b, rtol=1e-9)


def factors(shape: tuple[int, ...], a: Any, backend: str = "compile") -> Any:
    *batch, rows, columns = shape
    matrix = "x".join(map(str, shape)) + "xf64"
    swaps = "x".join(map(str, [*batch, min(rows, columns)])) + "xi32"
    info = "x".join([*map(str, batch), "i32"])
    text = call("lapack_dgetrf_ffi", "", [matrix], [matrix, swaps, info])
    return run(text, backend, a)


def check_factors(a: Any, found: Any, swaps: Any) -> None:
    rows, columns = a.shape
    steps = min(rows, columns)
    permuted = a.copy()
    for k, p in enumerate(swaps):
        assert k < p <= rows
        permuted[[k, p - 1]] = permuted[[p - 1, k]]
    lower = np.tril(found[:, :steps], -1) + np.eye(rows, steps)
    assert np.abs(lower).max() <= 1.0, "pivots are the largest"
    np.testing.assert_allclose(lower @ np.triu(found[:steps]), permuted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (3, 5)], ids=str)
def test_getrf(shape: tuple[int, int], backend: str) -> None:
    a = np.random.default_rng(3).standard_normal(shape)
    found, swaps, info = factors(shape, a, backend)
    assert info == 0
    check_factors(a, found, swaps)


def test_getrf_of_several_matrices() -> None:
    a = np.random.default_rng(4).standard_normal((2, 3, 4, 4))
    found, swaps, info = factors(a.shape, a)
    assert not info.any()
    for at in np.ndindex(2, 3):
        check_factors(a[at], found[at], swaps[at])


def test_getrf_goes_on_behind_a_pivot_of_zero() -> None:
    a = np.array([[0.0, 2.0, 1.0], [0.0, 4.0, 3.0], [0.0, 1.0, 5.0]])
    found, swaps, info = factors(a.shape, a)
    assert info == 1
    check_factors(a, found, swaps)


def test_single_precision() -> None:
    a = np.array([[4.0, 2.0], [8.0, 6.0]], np.float32)
    text = call("lapack_sgetrf_ffi", "", ["2x2xf32"], ["2x2xf32", "2xi32", "i32"])
    found, swaps, info = run(text, "compile", a)
    assert (found == np.array([[8.0, 6.0], [0.5, -1.0]])).all()
    assert (swaps.tolist(), int(info)) == ([2, 2], 0)
    letters = "side=L uplo=U trans_x=N diag=N"
    text = call("lapack_strsm_ffi", letters, ["2x2xf32", "2x1xf32"], ["2x1xf32"])
    found = run(text, "compile", a, np.array([[8.0], [12.0]], np.float32))
    assert (found == np.array([[1.0], [2.0]])).all()


def test_letters_that_lapack_does_not_have() -> None:
    text = call("lapack_spotrf_ffi", "uplo=X", ["3x3xf32"], ["3x3xf32", "i32"])
    with pytest.raises(LimitationError, match="its uplo is not one of L, U"):
        rl.from_stablehlo(text)(np.eye(3, dtype=np.float32))
