"""The mean of each 3x3 neighborhood, with repeated edges."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def mean(window: rl.Array) -> rl.Array:
    return (window | rl.join | rl.reduce(rl.add, 0.0)) / 9.0


@rl.jit
def stencil_2d(grid: Annotated[rl.Array, "N", "M", rl.f32]) -> rl.Array:
    return grid | rl.pad2d(1, 1) | rl.slide2d(3, 1) | rl.map2d(mean)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(9).random((6, 5), np.float32),)


def expected(grid: Any) -> Any:
    padded = np.pad(grid, 1, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).mean(axis=(2, 3))
