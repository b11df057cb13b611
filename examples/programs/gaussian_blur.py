"""An image blurred by the weights 1, 4, 6, 4, 1 along its columns, then along its rows."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def blurred(w: rl.Array) -> rl.Array:
    a, b, c, d, e = (w | rl.at(rl.clamp_idx(5, i)) for i in range(5))
    return 0.0625 * (a + e + 4.0 * (b + d) + 6.0 * c)


@rl.jit
def gaussian_blur(image: Annotated[rl.Array, "N + 4", "M + 4", rl.f32]) -> rl.Array:
    def line(rows: rl.Array) -> rl.Array:
        columns = rows | rl.transpose | rl.map(blurred)
        return columns | rl.slide(5, 1) | rl.map(blurred)

    return image | rl.slide(5, 1) | rl.map(line)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(20).random((9, 10), np.float32),)


def expected(image: Any) -> Any:
    weights = np.array([1, 4, 6, 4, 1], np.float32) / 16
    windows = np.lib.stride_tricks.sliding_window_view(image, (5, 5))
    return np.einsum("nmij,i,j->nm", windows, weights, weights)
