"""Every KxK window of an image weighted and summed; the result has no border."""

from __future__ import annotations

import numpy as np

import riselang as rl


@rl.jit(sizes="symbolic")
def convolution_2d(
    weights: rl.Array["K", "K", rl.f32], image: rl.Array["N + K - 1", "M + K - 1", rl.f32]
):
    def weighted(window):
        pairs = rl.zip(window | rl.join, weights | rl.join)
        return pairs | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return image | rl.slide2d("K", 1) | rl.map2d(weighted)


def inputs():
    random = np.random.default_rng(11)
    return random.random((3, 3), np.float32), random.random((7, 6), np.float32)


def expected(weights, image):
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    return np.einsum("nmij,ij->nm", windows, weights)
