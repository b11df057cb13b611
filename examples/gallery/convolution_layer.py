"""Convolutional layer: 3 x 3 filters on several channels, with bias and ReLU."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def convolution_layer(image: rl.Array, filters: rl.Array, bias: rl.Array) -> rl.Array:
    height, width = image.shape[1] - 2, image.shape[2] - 2
    sums = bias[:, None, None]
    for y in range(3):
        for x in range(3):
            shifted = image[:, y : y + height, x : x + width]
            sums = sums + rl.einsum("fc,cyx->fyx", filters[:, :, y, x], shifted)
    return rl.max(sums, 0.0)


def expected(image: Any, filters: Any, bias: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    sums = np.einsum("cyxij,fcij->fyx", windows, filters, optimize=True)
    return np.maximum(sums + bias[:, None, None], 0)


def example_inputs(size: int = 66) -> tuple[Any, ...]:
    random = np.random.default_rng(21)
    image = random.standard_normal((8, size, size), np.float32)
    filters = random.standard_normal((16, 8, 3, 3), np.float32)
    return image, filters, random.standard_normal(16, np.float32)
