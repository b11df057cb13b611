"""Operators and methods on arrays beside NumPy, which runs the same functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.notation.printer import show_term
from support.array_programs import check_beside_numpy, jitted


def ints(*shape: int, dtype: Any = np.int32) -> Any:
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(dtype)


def floats(*shape: int) -> Any:
    return ints(*shape, dtype=np.float32)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // (y * y + 1),
    "%": lambda x, y: x % (y * y + 1),
    "divmod": lambda x, y: sum(divmod(x, y * y + 1)) + sum(divmod(7, y * y + 1)),
    "**": lambda x, y: x**3 + y**2,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "~": lambda x, y: ~x - y,
    "<<": lambda x, y: x << (y & 7),
    ">>": lambda x, y: x >> (y & 7),
    "neg": lambda x, y: -x + y,
    "abs": lambda x, y: abs(x) - abs(y),
    "<": lambda x, y: (x < y) | (x == y),
    "<=": lambda x, y: (x <= y) & (x != y),
    ">": lambda x, y: (x > y) ^ ~(x >= y),
    "reflected": lambda x, y: (2 - x) * (100 // (y * y + 1)) + (7 & x) + (1 << (y & 3)),
}
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "equal": ((3, 4), (3, 4)),
    "rank": ((2, 3, 4), (4,)),
    "scalar": ((3,), ()),
    "one": ((3, 1), (1, 4)),
    "one and rank": ((4,), (2, 1, 1)),
}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.sampled(10)
def test_an_operator_is_applied_to_broadcast_elements(operator: str, shapes: str) -> None:
    left, right = SHAPES[shapes]
    check_beside_numpy(OPERATORS[operator], [ints(*left), ints(*right)])


FLOAT_PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "division": lambda x: x / 4.0 + 1 / (x * x + 1),
    "power": lambda x: (abs(x) ** 0.5, x**2, x**4.0, (x * 0.5) ** 5),
    "centered": lambda x: x - x.mean(axis=-1, keepdims=True),
    "sums": lambda x: (x.sum(), x.sum(0), x.sum(axis=(0, -1)), x.sum((2, 1), keepdims=True)),
    "products": lambda x: (x.prod(axis=1), x.mean(), x.mean((0, 1))),
    "extremes": lambda x: (x.max(), x.min(axis=1), x.argmax(), x.argmin(-1), x.argmax(0)),
    "truths": lambda x: ((x > 0).all(0), (x > 8).any(axis=(1, 2)), x.any(), x.all(keepdims=True)),
    "transposes": lambda x: (x.T, x.transpose(1, 2, 0), x.transpose((1, 0, 2))),
    "reshapes": lambda x: (
        x.reshape(6, -1), x.reshape((4, 3, 2)), x.ravel(), x.reshape(2, 3, 4, 1)),
    "ones": lambda x: (
        x.reshape(1, 2, 1, 12).squeeze(), x.reshape(2, 1, 12).squeeze(1), x[0, 0, 0].reshape(1)),
    "attributes": lambda x: x * x.shape[0] + x.ndim * x.size,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT_PROGRAMS)
def test_a_method_computes_what_numpy_computes(name: str) -> None:
    check_beside_numpy(FLOAT_PROGRAMS[name], [floats(2, 3, 4)], rtol=1e-6)


@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((4, 3), (3, 2)),
               ((2, 4, 3), (3, 2)), ((2, 1, 4, 3), (5, 3, 2)), ((3,), (2, 3, 4))],
)  # fmt: skip
def test_a_matrix_multiplication_is_that_of_numpy(shapes: Any) -> None:
    check_beside_numpy(lambda a, b: a @ b, [floats(*shape) for shape in shapes])
    check_beside_numpy(lambda a, b: a @ b, [ints(*shape) for shape in shapes])
    check_beside_numpy(lambda a, b: a @ b, [ints(*shape) > 3 for shape in shapes])


@pytest.mark.rotating(3)
def test_a_matrix_multiplication_is_the_pattern_form() -> None:
    def product(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]):
        return A @ B

    def composed(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]):
        return A | rl.map(
            lambda row: (
                B
                | rl.transpose
                | rl.map(
                    lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)
                )
            )
        )

    composed.__name__ = "product"
    sizes = {"N": 20, "K": 24, "M": 28}
    first, second = (rl.jit(each).lower(**sizes) for each in (product, composed))
    assert first.term == second.term
    assert first.compile().as_text("asm") == second.compile().as_text("asm")


def test_small_powers_are_products() -> None:
    powers = rl.jit(lambda x: (x**2, x**3.0, x**4, x**5))
    assert powers.trace(np.ones(2, np.float32)).as_text().count("pow") == 1


def test_broadcasting_is_visible_in_notation() -> None:
    kernel = jitted(lambda A, b: A + b, [floats(2, 3), floats(3)])
    text = show_term(kernel.trace(floats(2, 3), floats(3)).term)
    assert "x0 |> map(fun(a, zip(a, x1) |> map(add)))" in text


@pytest.mark.rotating(3)
@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_symbolic_sizes_are_used_where_they_are_provable(backend: str) -> None:
    def program(A: rl.Array["N", "M", rl.f32]):
        assert [str(size) for size in A.shape] == ["N", "M"]
        rows = A.reshape(-1, A.shape[1], 1)
        return (A - A.mean(0)).reshape(-1), rows.sum((1, 2)), A.T.reshape(A.shape)

    kernel = rl.jit(program, sizes="symbolic", float="strict", backend=backend)
    A = floats(4, 6)
    flat, sums, swapped = kernel(A)
    np.testing.assert_allclose(flat, (A - A.mean(0)).ravel(), rtol=1e-6)
    assert sums.tolist() == A.sum(1).tolist()
    assert swapped.tolist() == A.T.reshape(A.shape).tolist()


def test_a_choice_works_on_pairs_tuples_and_arrays() -> None:
    def choose(x: Any, s: Any, where: Any = rl.where) -> Any:
        pair = where(s > 0, (x, s), (-x, s + 1))
        a, bc = where(x > 0, (x, x, x > 1), (s, -x, x < 1))
        return where(s > 0, x, 0.0), where(x > 0, x, s), pair[0], pair[1], a, bc[0], bc[1]

    for value in (-2.0, 2.0):
        x, s = floats(5), np.float32(value)

        def select(condition: Any, chosen: Any, other: Any) -> Any:
            if isinstance(chosen, tuple):
                first, second = chosen[0], other[0]
                others = [
                    np.where(condition, *each) for each in zip(chosen[1:], other[1:], strict=True)
                ]
                tail = others[0] if len(others) == 1 else tuple(others)
                return np.where(condition, first, second), tail
            return np.where(condition, chosen, other)

        check_beside_numpy(choose, [x, np.asarray(s)], choose(x, s, select))


def test_empty_arrays_have_operators() -> None:
    empty = np.zeros((2, 0), np.float32)
    check_beside_numpy(lambda x: (x + 1, x.sum(1), x.reshape(0, 3), x.all()), [empty])


def test_captured_arrays_are_broadcast() -> None:
    weights = np.arange(3, dtype=np.float32)

    @rl.jit
    def scale(x: Any) -> Any:
        return weights * x + rl.where(x > 0.5, x, weights) + [1.0, 2.0, 3.0]

    x = np.array([[0.25, 0.5, 0.75], [1, 2, 3]], np.float32)
    expected = weights * x + np.where(x > 0.5, x, weights) + np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(scale(x), expected)


def test_captured_arrays_are_multiplied_and_joined() -> None:
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)

    def programs(x: Any, xp: Any) -> Any:
        products = weights @ x, xp.einsum("ij,jk->ik", weights, x), x[:2].T @ weights
        return *products, xp.concatenate([weights, x]), xp.stack([x[:2], weights])

    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    for result, expected in zip(rl.jit(lambda x: programs(x, rl))(x), programs(x, np), strict=True):
        np.testing.assert_array_equal(result, expected)


METHODS: dict[str, Callable[[Any], Any]] = {
    "var": lambda x: x.var(axis=0, ddof=1),
    "std": lambda x: x.std(axis=1),
    "cumsum": lambda x: x.cumsum(axis=1),
    "clip": lambda x: x.clip(0.25, 0.75),
    "dot": lambda x: x.dot(x.T),
    "round": lambda x: x.round(),
    "Python's round": lambda x: (x * 3).round() if isinstance(x, np.ndarray) else round(x * 3),
    "copy": lambda x: x.copy(),
    "count": lambda x: (x > 0.5).sum(axis=0),
    "share": lambda x: (x > 0.5).mean(),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_numpys_results(name: str) -> None:
    x = np.random.default_rng(5).random((3, 4))
    found, expected = rl.jit(METHODS[name], backend="interpret")(x), METHODS[name](x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.dtype == expected.dtype


def test_a_value_cannot_be_formatted_with_a_specification() -> None:
    with pytest.raises(rl.UserError, match=r"rl\.debug\.print"):
        rl.jit(lambda x: f"{x[0]:.2f}").lower(np.ones(3))


def test_missing_names_have_hints() -> None:
    hints = [
        (rl, "mean", r"x\.mean\(\)"),
        (rl, "hypot", r"rl\.numpy\.hypot"),
        (rl.numpy, "select", r"rl\.where"),
        (rl.numpy, "meam", "mean"),
    ]
    for module, name, hint in hints:
        with pytest.raises(AttributeError, match=hint):
            getattr(module, name)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("backend", ["interpret", "compile"])
def test_means_of_short_floats_do_not_overflow(backend: str) -> None:
    x = np.tile(np.array([100, 102], np.float16), 1000)
    statistics = rl.jit(lambda x: (x.mean(), x.var(), x.std()), backend=backend)
    results = statistics(x)
    assert [result.dtype for result in results] == [np.float16] * 3
    assert [float(result) for result in results] == [101.0, 1.0, 1.0]
