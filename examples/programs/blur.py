"""A convolution whose weights are products: one for the row of the window, one for the column."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit(sizes="symbolic")
def blur(
    vertical: Annotated[rl.Array, "K", rl.f32],
    horizontal: Annotated[rl.Array, "K", rl.f32],
    image: Annotated[rl.Array, "N + K - 1", "M + K - 1", rl.f32],
) -> rl.Array:
    def weighted(window: rl.Array) -> rl.Array:
        products = vertical | rl.map(lambda a: horizontal | rl.map(lambda b: a * b))
        pairs = rl.zip(products | rl.join, window | rl.join)
        return pairs | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return image | rl.slide2d("K", 1) | rl.map2d(weighted)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(12)
    weights = random.random((2, 3), np.float32)
    return weights[0], weights[1], random.random((7, 6), np.float32)


def expected(vertical: Any, horizontal: Any, image: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (len(vertical), len(horizontal)))
    return np.einsum("nmij,i,j->nm", windows, vertical, horizontal)
