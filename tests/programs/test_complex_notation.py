"""Complex numbers in notation: types, literals and functions, beside Python and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.load import LoadedProgram, load_text
from riselang.notation.program import parse_term

X = np.array([1 + 2j, 3 - 4j, -0.5j], np.complex64)
Y = (X * 2 - 1).astype(np.complex64)
BACKENDS = ("compile", "interpret")


def load(text: str, backend: str = "compile") -> Any:
    program = load_text(text, "test.rise", backend)
    assert isinstance(program, LoadedProgram)
    return program


PROGRAMS = {
    "fun((x : N.complex64), x |> map(conj))": np.conj(X),
    "fun((x : N.complex64), x |> map(fun(z, z * 1.0j + 2.0)))": X * 1j + 2,
    "fun((x : N.complex64), x |> reduce(add, 0.0j))": X.sum(),
    "fun((x : N.complex64), x |> map(fun(z, real(z) - imag(z))))": X.real - X.imag,
    "fun((x : N.complex64), x |> map(fun(z, if z == conj(z) then z else -z)))": -X,
    "fun((x : N.complex64), x |> map(fun(z, complex(imag(z), real(z)))))": X.imag + 1j * X.real,
    "fun((x : N.complex64), x |> map(fun(z, z / (3 - 4.0j_complex64))))": X / (3 - 4j),
    "fun((x : N.complex64), x |> map(fun(z, z * complex(0.0, -1.0))))": X * -1j,
    "fun((x : N.complex64), x |> map(fun(z, cast[complex64](abs(z)))))": abs(X) + 0j,
    "depFun(n : nat, fun((x : n.complex64), x |> map(exp)))": np.exp(X),
    "(map(neg) : N.complex64 -> N.complex64)": -X,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", PROGRAMS)
def test_results_are_those_of_numpy(text: str, backend: str) -> None:
    result = load(text, backend)(X)
    expected = PROGRAMS[text].astype(result.dtype)
    assert result.dtype.kind == PROGRAMS[text].dtype.kind
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("text", PROGRAMS)
def test_what_is_printed_reads_back(text: str) -> None:
    term = parse_term(text)
    assert parse_term(repr(term)) == term


def test_several_arguments_and_results() -> None:
    text = """fun((x : N.complex64, a : f64, y : N.complex64), (zip(x, y) |> map(mult),
      (x |> map(fun(z, (z, imag(z) > 0.0))), a)))"""
    product, same, is_positive, number = load(text)(X, 2.5, Y)
    assert product.dtype == np.complex64
    np.testing.assert_allclose(product, X * Y, rtol=1e-6)
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(is_positive, X.imag > 0)
    assert number == 2.5


def test_scalars_and_out() -> None:
    program = load("fun((x : N.complex128, w : complex128), x |> map(fun(z, z * w)))")
    x, out = X.astype(np.complex128), np.zeros(3, np.complex128)
    assert program.main(x, 2j, out=out) is out
    np.testing.assert_array_equal(out, x * 2j)


def test_the_term_is_that_of_python() -> None:
    @rl.jit(sizes="symbolic")
    def rotate(x: rl.Array["N", rl.complex64]) -> Any:
        return x | rl.map(lambda z: z * 1j)

    text = "fun((x : N.complex64), x |> map(fun(z, z * 1.0j)))"
    assert parse_term(text) == rotate.trace().term


def test_wrong_dtypes_are_reported() -> None:
    program = load("fun((x : N.complex64), x |> map(conj))")
    with pytest.raises(rl.UserError, match="complex64"):
        program(X.astype(np.complex128))
    with pytest.raises(rl.UserError, match="complex64"):
        program(X.real.copy())
