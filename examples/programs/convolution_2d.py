"""Every KxK window of an image weighted and summed; the result has no border."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit(sizes="symbolic")
def convolution_2d(
    weights: Annotated[rl.Array, "K", "K", rl.f32],
    image: Annotated[rl.Array, "N + K - 1", "M + K - 1", rl.f32],
) -> rl.Array:
    def weighted(window: rl.Array) -> rl.Array:
        pairs = rl.zip(window | rl.join, weights | rl.join)
        return pairs | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return image | rl.slide2d("K", 1) | rl.map2d(weighted)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(11)
    return random.random((3, 3), np.float32), random.random((7, 6), np.float32)


def expected(weights: Any, image: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    return np.einsum("nmij,ij->nm", windows, weights)
