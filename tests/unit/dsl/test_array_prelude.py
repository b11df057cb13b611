"""Selection, sums and histograms beside NumPy, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.errors import UserError

TYPES: dict[Any, Any] = {
    np.float32: rl.f32, np.float64: rl.f64, np.int8: rl.i8, np.int64: rl.i64, np.uint8: rl.u8
}  # fmt: skip
NAN, INFINITY = float("nan"), float("inf")


def arrays(dtype: Any) -> list[Any]:
    source = np.random.default_rng(3)
    least = 0 if np.issubdtype(dtype, np.unsignedinteger) else -9
    examples = [source.integers(least, 9, length).astype(dtype) for length in (1, 40)]
    if np.issubdtype(dtype, np.floating):
        examples += [
            np.array(each, dtype)
            for each in ([2, NAN, 7, NAN], [-INFINITY] * 3, [INFINITY, NAN], [-0.0, 0.0, -0.0])
        ]
        return examples
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return [*examples, np.array([least] * 2, dtype), np.array([1, most, most], dtype)]


def greatest(x: Any) -> Any:
    order = np.array(sorted(range(len(x)), key=lambda i: (not np.isnan(x[i]), -float(x[i]), i)))
    return x[order[:1]], order[:1]


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "argmax": (lambda x: rl.argmax(x), np.argmax),
    "argmin": (lambda x: rl.argmin(x), np.argmin),
    "argsort": (lambda x: x | rl.argsort, lambda x: np.argsort(x, kind="stable")),
    "top_k": (lambda x: x | rl.top_k(1), greatest),
    "cumsum": (lambda x: x | rl.cumsum, lambda x: np.cumsum(x, dtype=x.dtype)),
    "histogram": (
        lambda x: x | rl.histogram(6, 1, 7),
        lambda x: np.histogram(x[~np.isnan(x)], 6, (1, 7))[0],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.sampled(3)
def test_agrees_with_numpy(name: str, dtype: Any) -> None:
    function, reference = CASES[name]

    def program(x: Any) -> Any:
        return function(x)

    program.__annotations__["x"] = rl.Array["N", TYPES[dtype]]
    compiled = rl.jit(program, sizes="symbolic")
    interpreted = rl.jit(program, backend="interpret")
    with np.errstate(all="ignore"):
        for x in arrays(dtype):
            expected = reference(x)
            np.testing.assert_array_equal(compiled(x), expected)
            np.testing.assert_array_equal(interpreted(x), expected)


def test_works_on_each_row() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.Array["M", rl.f32]]) -> Any:
        return x | rl.map(rl.argmax)

    x = np.random.default_rng(0).standard_normal((3, 17)).astype(np.float32)
    np.testing.assert_array_equal(program(x), x.argmax(axis=1))


def test_booleans_are_ordered() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.i1]) -> Any:
        return rl.argmax(x), rl.argmin(x)

    assert program(np.array([False, True, True])) == (1, 0)


@pytest.mark.parametrize("name", ["argmax", "argsort", "cumsum"])
def test_rejects_a_matrix(name: str) -> None:
    def program(x: rl.Array[3, rl.Array[4, rl.f32]]) -> Any:
        return getattr(rl, name)(x)

    with pytest.raises(UserError, match=rf"{name} works on an array of scalars.*rl.map\(rl.{name}"):
        rl.jit(program).trace()


def test_rejects_an_unknown_number_of_bins() -> None:
    def program(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.histogram("N", 0.0, 1.0)

    with pytest.raises(UserError, match="the number of bins must be known"):
        rl.jit(program, sizes="symbolic").trace()
