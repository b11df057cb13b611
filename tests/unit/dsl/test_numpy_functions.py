"""The functions of `rl.numpy` beside those of NumPy, with promotion of types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.numpy as rnp
from support.array_programs import check_beside_numpy, jitted

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sums": lambda xp, x, i: (xp.sum(i), xp.sum(x, axis=0), xp.mean(i, axis=1), xp.prod(i[0] % 3)),
    "spread": lambda xp, x, i: (
        xp.var(x, axis=1),
        xp.std(i, axis=(0, 1), ddof=1),
        xp.max(i),
        xp.argmin(x, 0),
    ),
    "running": lambda xp, x, i: (
        xp.cumsum(i, axis=1),
        xp.cumprod(x, axis=0),
        xp.diff(i),
        xp.cumsum(i),
    ),
    "layout": lambda xp, x, i: (
        xp.transpose(x),
        xp.moveaxis(x[None], 0, 2),
        xp.reshape(i, (-1, 2)),
        xp.ravel(x),
        xp.flip(i),
        xp.flip(x, 1),
        xp.squeeze(x[None]),
        xp.expand_dims(x, (0, -1)),
        xp.broadcast_to(i, (2, 3, 4)),
    ),
    "joins": lambda xp, x, i: (
        xp.stack([x, i]),
        xp.concatenate([i, x, i], axis=1),
        xp.tile(i, (2, 1)),
    ),
    "repeats": lambda xp, x, i: (xp.repeat(i, 2), xp.repeat(x, 3, axis=1), xp.tile(x[0], 2)),
    "sorts": lambda xp, x, i: (
        xp.sort(x),
        xp.sort(i, axis=0),
        xp.argsort(x, axis=0),
        xp.sort(x > 0),
    ),
    "take": lambda xp, x, i: (xp.take(x, i[0] % 3, axis=0), xp.take_along_axis(x, i % 4, axis=1)),
    "pads": lambda xp, x, i: (
        xp.pad(x, 1),
        xp.pad(i, (1, 2), "edge"),
        xp.pad(x, ((0, 1), (2, 0)), "wrap"),
        xp.pad(i, 2, "reflect"),
        xp.pad(i, (2, 1), "symmetric"),
        xp.pad(x, 1, constant_values=5),
    ),
    "triangles": lambda xp, x, i: (xp.tril(x), xp.triu(i, 1), xp.trace(i), xp.diagonal(x, 1)),
    "products": lambda xp, x, i: (xp.matmul(x, i.T), xp.outer(i[0], x[1]), xp.inner(x, i)),
    "constants": lambda xp, x, i: (
        xp.zeros((2, 2)),
        xp.full(3, 7),
        xp.ones_like(i),
        xp.linspace(0, 1, 5),
        xp.eye(2, 3, k=1),
        *xp.meshgrid(x[0], i[1]),
    ),
    "mixed": lambda xp, x, i: (
        xp.add(x, i),
        xp.multiply(i, 2),
        xp.divide(i, 4),
        xp.where(x > 0, x, i),
    ),
    "comparisons": lambda xp, x, i: (xp.less(x, i), xp.equal(i, 3.5), xp.greater(x > 0, i > 0)),
    "logic": lambda xp, x, i: (xp.logical_and(x, i), xp.logical_not(i), xp.logical_xor(x > 0, i)),
    "bits": lambda xp, x, i: (
        xp.bitwise_and(i, 6),
        xp.invert(i),
        xp.left_shift(i, 2),
        xp.invert(x > 0),
    ),
    "signs": lambda xp, x, i: (xp.sign(x), xp.sign(i), xp.signbit(x), xp.abs(i), xp.negative(x)),
    "tests": lambda xp, x, i: (xp.isnan(x / x), xp.isinf(1 / x), xp.isfinite(i), xp.isclose(x, i)),
    "rounding": lambda xp, x, i: (
        xp.round(x / 4, 1),
        xp.round(x, decimals=-1),
        xp.floor(x / 3),
        xp.ceil(i),
        xp.trunc(x / 3),
    ),
    "histograms": lambda xp, x, i: (
        *xp.histogram(x, 4, (-8, 8)),
        *xp.histogram(x[0], bins=3),
        *xp.histogram(x[0, :1]),
    ),
    "division": lambda xp, x, i: (
        xp.floor_divide(x, 2.5),
        xp.remainder(x, -2.5),
        xp.remainder(i, 3),
        xp.floor_divide(1.0, x / 10),
    ),
    "powers": lambda xp, x, i: (
        xp.power(abs(i), abs(i) % 4),
        xp.power(i, 2),
        xp.square(x),
        xp.power(x, 2),
    ),
    "extremes": lambda xp, x, i: (xp.maximum(x, i), xp.minimum(i, 2), xp.clip(i, -2, 3)),
    "counts": lambda xp, x, i: (xp.count_nonzero(x, axis=0), xp.any(i > 8), xp.all(x < 99, axis=1)),
    "search": lambda xp, x, i: (
        xp.searchsorted(xp.sort(i[0]), i[1]),
        xp.searchsorted(xp.sort(i[0]), i[1], side="right"),
    ),
}


def inputs() -> list[Any]:
    numbers = np.random.default_rng(5).integers(-9, 10, (2, 3, 4))
    return [numbers[0].astype(np.float32), numbers[1].astype(np.int32)]


@pytest.mark.sampled(7)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_computes_what_numpy_computes(name: str) -> None:
    arrays = inputs()
    if name in ("sums", "spread", "running"):
        expected = FUNCTIONS[name](np, *arrays)
        check_beside_numpy(partial(FUNCTIONS[name], rnp), arrays, expected, rtol=1e-6)
    else:
        check_beside_numpy(partial(FUNCTIONS[name], rnp), arrays, FUNCTIONS[name](np, *arrays))


MATH = ("exp", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "arctan", "expm1", "log2", "cbrt")


@pytest.mark.filterwarnings("ignore")
def test_math_functions_are_those_of_numpy() -> None:
    x = np.linspace(0.1, 3, 7, dtype=np.float64)
    kernel = jitted(lambda x: tuple(getattr(rnp, name)(x) for name in MATH), [x])
    for name, found in zip(MATH, kernel(x), strict=True):
        np.testing.assert_allclose(found, getattr(np, name)(x), rtol=1e-14)
    y = x[::-1].copy()
    pairs = jitted(lambda x, y: (rnp.hypot(x, y), rnp.logaddexp(x, y)), [x, y])(x, y)
    np.testing.assert_allclose(pairs, (np.hypot(x, y), np.logaddexp(x, y)), rtol=1e-14)


TYPES = ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("left", TYPES)
def test_types_are_promoted_as_in_numpy(left: str) -> None:
    arrays = [np.ones(1, left), *(np.ones(1, each) for each in TYPES)]

    def program(xp: Any, x: Any, *others: Any) -> Any:
        return *(xp.maximum(x, y) for y in others), xp.maximum(x, 2), xp.maximum(x, 0.5), xp.sum(x)

    found = jitted(partial(program, rnp), arrays)(*arrays)
    assert [each.dtype for each in found] == [each.dtype for each in program(np, *arrays)]


def test_captured_arrays_are_operands() -> None:
    table = np.array([4, 5, 6], np.int32)

    @rl.jit
    def look_up(x: Any, i: Any) -> Any:
        return rnp.asarray(table)[i], rnp.take(table, i), rnp.add(table, x)

    x, i = np.array([0.5, 1, 2]), np.array([2, 0], np.int32)
    for result, expected in zip(look_up(x, i), (table[i], table[i], table + x), strict=True):
        np.testing.assert_array_equal(result, expected)
