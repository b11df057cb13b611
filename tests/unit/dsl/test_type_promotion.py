"""Operators on values of different types have NumPy's results and dtypes."""

from __future__ import annotations

import itertools
import operator as op
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

DTYPES = [
    "bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def interpreted(function: Callable[..., Any], *arguments: Any) -> Any:
    return rl.jit(function, backend="interpret")(*arguments)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("first", DTYPES)
def test_products_have_the_types_of_numpy(first: str) -> None:
    for second in DTYPES:
        x, y = np.array([1, 0, 1], first), np.array([1, 1, 0], second)
        if x.dtype == y.dtype == bool:
            continue
        found = interpreted(lambda x, y: x * y, x, y)
        assert found.dtype == (x * y).dtype, (first, second)
        assert found.tolist() == (x * y).tolist()


NUMBERS: dict[str, Callable[..., Any]] = {
    "int": lambda x: x + 1,
    "float": lambda x: 0.5 * x,
    "complex": lambda x: x - 1j,
    "true": lambda x: x + True,
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64"])
def test_python_numbers_adapt_or_promote(name: str, dtype: str) -> None:
    x, function = np.array([1, 2, 3], dtype), NUMBERS[name]
    found, expected = interpreted(function, x), function(x)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


OPERATORS: dict[str, Callable[..., Any]] = {
    "a quotient of integers": lambda i, u, x, b: i / 2,
    "a quotient of two types": lambda i, u, x, b: x / u,
    "a quotient of Booleans": lambda i, u, x, b: b / b[0],
    "a floor division of floats": lambda i, u, x, b: x // i,
    "a remainder of floats": lambda i, u, x, b: x % -2.5,
    "a remainder of integers": lambda i, u, x, b: i % u,
    "a root of integers": lambda i, u, x, b: u**0.5,
    "a comparison": lambda i, u, x, b: i > x,
    "a comparison with a float": lambda i, u, x, b: i > 0.5,
    "bits": lambda i, u, x, b: i | u,
    "a mask as a factor": lambda i, u, x, b: (x > 1) * x,
    "a count": lambda i, u, x, b: b + 0,
    "a matrix product": lambda i, u, x, b: i @ x,
    "broadcasting": lambda i, u, x, b: x[:, None] + u,
    "a constant": lambda i, u, x, b: x * np.arange(3.0),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_promote(name: str) -> None:
    function = OPERATORS[name]
    i, u = np.array([1, -2, 3], np.int32), np.array([3, 2, 1], np.uint8)
    x, b = np.array([7.5, 1, -2], np.float32), np.array([True, True, True])
    found, expected = interpreted(function, i, u, x, b), function(i, u, x, b)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "where": (lambda x, i: rl.where(x > 1, x, i), lambda x, i: np.where(x > 1, x, i)),
    "clip": (lambda x, i: rl.clip(i, 0.5, x), lambda x, i: np.clip(i, 0.5, x)),
    "concatenate": (
        lambda x, i: rl.concatenate([x, i]),
        lambda x, i: np.concatenate([x, i]),
    ),
    "stack": (lambda x, i: rl.stack([x, i]), lambda x, i: np.stack([x, i])),
    "einsum": (
        lambda x, i: rl.einsum("i,j->ij", x, i),
        lambda x, i: np.einsum("i,j->ij", x, i),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_on_arrays_promote(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    x, i = np.array([7.5, 1, -2], np.float32), np.array([1, -2, 3], np.int32)
    found, expected = interpreted(ours, x, i), theirs(x, i)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_passed_numbers_adapt_or_promote() -> None:
    scale: Callable[..., Any] = lambda x, factor: x * factor  # noqa: E731
    for dtype, factor in itertools.product(["int32", "float32", "float64"], [3, 0.5, 2j]):
        x = np.ones(2, dtype)
        assert interpreted(scale, x, factor).dtype == (x * factor).dtype, (dtype, factor)


def test_quotients_of_passed_integers_adapt_to_floats() -> None:
    half: Callable[..., Any] = lambda x, n: x * (n / 2)  # noqa: E731
    assert interpreted(half, np.ones(2, np.float32), 3).dtype == np.float32
    assert interpreted(lambda n: n / 2, 3) == 1.5
    assert interpreted(lambda n: n / 2, [1, 2]).tolist() == [0.5, 1.0]


def test_new_arrays_have_numpys_types_if_nothing_determines_them() -> None:
    create: Callable[..., Any] = lambda x: (  # noqa: E731
        rl.zeros(2), rl.ones(2), rl.eye(2), rl.full(2, 1), rl.full(2, 1.5), rl.full(2, True), x
    )  # fmt: skip
    *found, _ = interpreted(create, np.ones(2, np.float32))
    expected = [np.zeros(2), np.ones(2), np.eye(2), np.full(2, 1), np.full(2, 1.5)]
    assert [each.dtype for each in found] == [*(each.dtype for each in expected), np.dtype(bool)]


def test_new_arrays_adapt_to_their_use() -> None:
    for dtype in ("int32", "float32", "float64"):
        x = np.ones(2, dtype)
        assert interpreted(lambda x: rl.ones(2).at[0].set(x[0]), x).dtype == dtype
        expected = np.float32 if dtype == "float32" else np.float64
        assert interpreted(lambda x: rl.zeros(2) + x, x).dtype == expected


def test_compiled_code_converts_as_the_interpreter() -> None:
    function: Callable[..., Any] = lambda i, x, b: (i / 3 + x % 2) * b  # noqa: E731
    arguments = (
        np.array([1, -2, 3], np.int32),
        np.array([7.5, 1, -2], np.float32),
        np.array([True, False, True]),
    )
    found = rl.jit(function, float="strict")(*arguments)
    np.testing.assert_array_equal(found, interpreted(function, *arguments))


def test_conversions_are_visible_and_read_back() -> None:
    x, i = np.ones(3, np.float32), np.ones(3, np.int32)
    term = rl.jit(lambda x, i: x * i).trace(x, i).term
    assert "cast[f64]" in show_term(term)
    assert parse_term(show_term(term)) == term


def test_functions_of_scalars_do_not_promote() -> None:
    x, y = np.ones(3, np.float32), np.ones(3)
    for function in (
        lambda x, y: rl.zip(x, y) | rl.map(rl.add),
        lambda x, y: rl.max(x, y),
        lambda x, y: x.at[0].set(y[0]),
    ):
        with pytest.raises(rl.UserError, match=r"\.astype\(rl\.f32\)"):
            interpreted(function, x, y)


@pytest.mark.parametrize("backend", ["compile", "interpret"])
@pytest.mark.parametrize("operator", [op.lt, op.le, op.gt, op.ge, op.eq, op.ne])
def test_false_is_less_than_true(operator: Any, backend: Any) -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])

    def compare(x: Any, y: Any) -> Any:
        return operator(x, y)

    def compare_with_true(x: Any) -> Any:
        return operator(x, True)

    np.testing.assert_array_equal(rl.jit(compare, backend=backend)(x, y), operator(x, y))
    np.testing.assert_array_equal(rl.jit(compare_with_true, backend=backend)(x), operator(x, True))


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_powers_of_booleans_are_integers(exponent: int) -> None:
    def power(x: Any) -> Any:
        return x**exponent

    x = np.array([False, True])
    found = rl.jit(power)(x)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [0, 1])
