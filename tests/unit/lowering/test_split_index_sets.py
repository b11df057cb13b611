"""Loops that compare their indices with constants: the same results in several parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl


@pytest.mark.parametrize(
    ("first", "last"), [(-1, 0), (0, 1), (1, 199), (64, 64), (90, 30), (200, 500)]
)
def test_parts_have_the_values_of_the_interpreter(first: int, last: int) -> None:
    def between() -> Any:
        def value(i: Any) -> Any:
            number = rl.from_idx(i)
            least = rl.if_(number > first, 1.5, 0.5)
            return rl.if_(number <= last, least, least * 4.0)

        return rl.generate(value, n=200)

    compiled, interpreted = rl.jit(between)(), rl.jit(between, backend="interpret")()
    assert np.array_equal(compiled, interpreted)


def test_sums_pass_from_part_to_part() -> None:
    def total(x: rl.Array[300, rl.f32]) -> Any:
        weights = rl.generate(lambda i: rl.if_(rl.from_idx(i) < 100, 0.25, 3.0), n=300)
        return rl.zip(x, weights) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    x = np.random.default_rng(0).random(300, np.float32)
    compiled, interpreted = rl.jit(total), rl.jit(total, backend="interpret")
    assert compiled(x) == interpreted(x)
