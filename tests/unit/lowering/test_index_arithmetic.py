"""Indices that are computed from counters of loops are simplified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import agree

import riselang as rl


def text(function: Any, *arrays: Any) -> str:
    return rl.jit(function).lower(*arrays).as_text("affine")


@pytest.mark.parametrize(("step", "start"), [(3, 2), (1, 0), (5, 24), (7, 90), (-2, 60), (9, -4)])
def test_a_scatter_to_multiples_agrees(step: int, start: int) -> None:
    def clear(x: rl.Array[100, rl.i32]) -> Any:
        indices = rl.generate(lambda i: rl.clamp_idx(100, rl.from_idx(i) * step + start), n=16)
        return rl.scatter(indices, x, rl.generate(lambda i: rl.literal(0, rl.i32), n=16))

    agree(clear, np.arange(1, 101, dtype=np.int32))


def test_indices_in_bounds_are_not_clamped() -> None:
    def clear(x: rl.Array[100, rl.i32]) -> Any:
        indices = rl.generate(lambda i: rl.clamp_idx(100, rl.from_idx(i) * 3 + 2), n=30)
        return rl.scatter(indices, x, rl.generate(lambda i: rl.literal(0, rl.i32), n=30))

    loops = text(clear, np.arange(100, dtype=np.int32))
    assert "minsi" not in loops
    assert "maxsi" not in loops
    assert "0 to 90 step 3" in loops


def test_indices_out_of_bounds_are_clamped() -> None:
    def clear(x: rl.Array[100, rl.i32]) -> Any:
        indices = rl.generate(lambda i: rl.clamp_idx(100, rl.from_idx(i) * 3 + 20), n=30)
        return rl.scatter(indices, x, rl.generate(lambda i: rl.literal(0, rl.i32), n=30))

    x = np.arange(100, dtype=np.int32)
    loops = text(clear, x)
    assert "minsi" in loops
    assert "maxsi" not in loops
    agree(clear, x)


def test_numbers_that_may_overflow_are_clamped() -> None:
    def select(x: rl.Array[100, rl.f32]) -> Any:
        def index(i: Any) -> Any:
            number = rl.cast(rl.from_idx(i), rl.i32)
            return rl.clamp_idx(100, number * 1_000_000_000)

        return x | rl.gather(rl.generate(index, n=5))

    agree(select, np.arange(100, dtype=np.float32))


def test_known_comparisons_are_constants() -> None:
    def compare(x: rl.Array[8, rl.i32]) -> Any:
        def choose(i: Any, a: Any) -> Any:
            number = rl.cast(rl.from_idx(i), rl.i64)
            later = rl.where(number > 9, 2, rl.where(number >= 4, 3, 4))
            return rl.where(number < 0, 1, rl.where(number <= 7, a, later))

        return rl.zip(rl.generate(lambda i: i, n=8), x) | rl.map(choose)

    x = np.arange(8, dtype=np.int32)
    agree(compare, x)
    assert "cmpi sgt" not in text(compare, x)
