"""One step of Jacobi's method on a grid: the mean of each element and its four neighbors."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def at2d(i: int, j: int, window: rl.Array) -> rl.Array:
    return window | rl.at(rl.clamp_idx(3, i)) | rl.at(rl.clamp_idx(3, j))


@rl.jit
def jacobi_2d(grid: Annotated[rl.Array, "N + 2", "M + 2", rl.f32]) -> rl.Array:
    def mean(window: rl.Array) -> rl.Array:
        beside = at2d(1, 1, window) + at2d(1, 0, window) + at2d(1, 2, window)
        return 0.2 * (beside + at2d(2, 1, window) + at2d(0, 1, window))

    return grid | rl.slide2d(3, 1) | rl.map2d(mean)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(16).random((7, 8), np.float32),)


def expected(grid: Any) -> Any:
    beside = grid[1:-1, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    return (beside + grid[2:, 1:-1] + grid[:-2, 1:-1]) / 5
