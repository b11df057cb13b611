"""The gradient magnitude of an image at each pixel (Sobel operator)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def slope(a: rl.Array, b: rl.Array, c: rl.Array, d: rl.Array, e: rl.Array, f: rl.Array) -> rl.Array:
    return b - a + 2.0 * (d - c) + f - e


@rl.jit
def sobel(image: Annotated[rl.Array, "N + 2", "M + 2", rl.f32]) -> rl.Array:
    def change(w: rl.Array) -> rl.Array:
        def at2d(i: int, j: int) -> rl.Array:
            return w | rl.at(rl.clamp_idx(3, i)) | rl.at(rl.clamp_idx(3, j))

        across = slope(at2d(0, 0), at2d(0, 2), at2d(1, 0), at2d(1, 2), at2d(2, 0), at2d(2, 2))
        down = slope(at2d(0, 0), at2d(2, 0), at2d(0, 1), at2d(2, 1), at2d(0, 2), at2d(2, 2))
        return rl.math.sqrt(across * across + down * down)

    return image | rl.slide2d(3, 1) | rl.map2d(change)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(19).random((7, 8), np.float32),)


def expected(image: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    weights = np.outer([1, 2, 1], [-1, 0, 1]).astype(np.float32)
    across, down = (np.einsum("nmij,ij->nm", windows, each) for each in (weights, weights.T))
    return np.hypot(across, down)
