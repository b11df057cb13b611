"""Bilateral filter: smooths an image, but not across edges."""

from typing import Any

import numpy as np

import riselang as rl

SIZE, RANGE = 5, 0.1
OFFSETS = np.arange(SIZE) - SIZE // 2
DISTANCES = (OFFSETS[:, None] ** 2 + OFFSETS**2) / 8


@rl.jit(float="relaxed")
def bilateral(image: rl.Array) -> rl.Array:
    def smooth(window: rl.Array) -> Any:
        total: Any = 0.0
        weights: Any = 0.0
        for (y, x), distance in np.ndenumerate(DISTANCES):
            difference = window[y, x] - window[SIZE // 2, SIZE // 2]
            weight = rl.math.exp(-0.5 / RANGE**2 * difference**2 - float(distance))
            total, weights = total + weight * window[y, x], weights + weight
        return total / weights

    return image | rl.slide2d(SIZE, 1) | rl.map2d(smooth)


def expected(image: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIZE, SIZE))
    centers = windows[:, :, SIZE // 2, SIZE // 2]
    total = weights = np.float32(0)
    for (y, x), distance in np.ndenumerate(DISTANCES):
        difference = windows[:, :, y, x] - centers
        weight = np.exp(-0.5 / RANGE**2 * difference**2 - float(distance))
        total, weights = total + weight * windows[:, :, y, x], weights + weight
    return total / weights


def example_inputs(size: int = 164) -> tuple[Any, ...]:
    random = np.random.default_rng(11)
    y, x = np.mgrid[0:size, 0:size] / size
    scene = np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1, 0.8, 0.2 + 0.3 * y)
    return ((scene + random.normal(0, 0.04, scene.shape)).astype(np.float32),)


def picture(image: Any) -> Any:
    return np.round(image * 32) / 32
