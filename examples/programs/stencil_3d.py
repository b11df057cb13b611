"""The mean of each 3x3x3 neighborhood inside a volume; the result has no border."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def slide3d(xsss: rl.Array) -> rl.Array:
    windows = xsss | rl.map(rl.slide2d(3, 1)) | rl.slide(3, 1)
    return windows | rl.map(rl.transpose) | rl.map(rl.map(rl.transpose))


def mean(window: rl.Array) -> rl.Array:
    return (window | rl.join | rl.join | rl.reduce(rl.add, 0.0)) / 27.0


@rl.jit
def stencil_3d(volume: Annotated[rl.Array, "N + 2", "M + 2", "K + 2", rl.f32]) -> rl.Array:
    return slide3d(volume) | rl.map(rl.map(rl.map(mean)))


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(10).random((5, 4, 6), np.float32),)


def expected(volume: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(volume, (3, 3, 3)).mean(axis=(3, 4, 5))
