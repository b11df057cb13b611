"""Reductions that few elements change: compiled and interpreted, the results have the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

TYPES: dict[Any, Any] = {
    np.float32: rl.f32, np.float64: rl.f64, np.int8: rl.i8, np.int32: rl.i32, np.int64: rl.i64
}  # fmt: skip
SIZES = (128, 300, 777)

Step = Callable[[Any, Any], tuple[Any, Any]]


def choose(is_better: Any, new: Any, best: Any) -> tuple[Any, Any]:
    return rl.where(is_better, new.fst, best.fst), rl.where(is_better, new.snd, best.snd)


def choose_old(is_old: Any, new: Any, best: Any) -> tuple[Any, Any]:
    return rl.where(is_old, best.fst, new.fst), rl.where(is_old, best.snd, new.snd)


STEPS: dict[str, Step] = {
    "greater": lambda best, new: choose(new.fst > best.fst, new, best),
    "at least": lambda best, new: choose(best.fst <= new.fst, new, best),
    "less": lambda best, new: choose(best.fst > new.fst, new, best),
    "at most": lambda best, new: choose(new.fst <= best.fst, new, best),
    "not at most": lambda best, new: choose_old(new.fst <= best.fst, new, best),
    "not above": lambda best, new: choose_old(best.fst < new.fst, new, best),
    "greater or NaN": lambda best, new: choose(
        ~(new.fst <= best.fst) & (best.fst == best.fst), new, best
    ),
    "less or NaN": lambda best, new: choose(
        (best.fst == best.fst) & ~(best.fst <= new.fst), new, best
    ),
    "different": lambda best, new: choose(new.fst != best.fst, new, best),
    "count": lambda best, new: (
        rl.where(new.fst > best.fst, new.fst, best.fst),
        rl.where(new.fst > best.fst, best.snd + 1, best.snd),
    ),
    "absolute": lambda best, new: choose(rl.abs(new.fst) > best.fst, new, best),
    "squares": lambda best, new: (
        rl.where(new.fst * new.fst > best.fst, new.fst * new.fst, best.fst),
        rl.where(new.fst * new.fst > best.fst, new.snd, best.snd),
    ),
}


def inputs(dtype: Any, length: int) -> list[Any]:
    source = np.random.default_rng(length)
    many_equal = source.integers(-3, 4, length).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return [many_equal, source.integers(limits.min, limits.max, length).astype(dtype)]
    ascending = np.sort(source.standard_normal(length)).astype(dtype)
    special = many_equal.copy()
    special[source.random(length) < 0.3] = -0.0
    with_nan = special.copy()
    with_nan[source.random(length) < 0.02] = np.nan
    with_nan[source.random(length) < 0.02] = -np.inf
    nan_first = with_nan.copy()
    nan_first[0] = np.nan
    return [ascending, ascending[::-1].copy(), special, with_nan, nan_first]


def bits(results: Any) -> list[bytes]:
    return [np.asarray(each).tobytes() for each in results]


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.sampled(2)
def test_results_are_those_of_the_interpreter(name: str, dtype: Any, loops: str) -> None:
    def program(x: Any) -> Any:
        indices = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32))
        return rl.zip(x, indices) | rl.reduce(STEPS[name], (x[0], 0))

    program.__annotations__["x"] = rl.Array["N", TYPES[dtype]]
    compiled = rl.jit(program, sizes="symbolic", loops=loops)
    interpreted = rl.jit(program, backend="interpret")
    for length in SIZES:
        for x in inputs(dtype, length):
            assert bits(compiled(x)) == bits(interpreted(x)), (length, x)


def test_rows_of_known_length() -> None:
    @rl.jit
    def program(x: rl.Array[3, rl.Array[300, rl.f32]]) -> Any:
        return x | rl.map(rl.argmin)

    x = np.random.default_rng(0).standard_normal((3, 300)).astype(np.float32)
    np.testing.assert_array_equal(program(x), x.argmin(axis=1))
