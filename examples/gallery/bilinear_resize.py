"""Bilinear image resizing to twice the size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import riselang as rl


@rl.jit
def bilinear_resize(image: rl.Array) -> rl.Array:
    def positions(length: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        at = (np.arange(2 * length) + 0.5) / 2 - 0.5
        low = np.clip(np.floor(at), 0, length - 2).astype(np.int32)
        return low, np.clip(at - low, 0, 1).astype(np.float32)

    (rows, y), (columns, x) = positions(image.shape[0]), positions(image.shape[1])
    tall = image[rows] * (1 - y)[:, None] + image[rows + 1] * y[:, None]
    return tall[:, columns] * (1 - x) + tall[:, columns + 1] * x


def expected(image: Any) -> Any:
    def positions(length: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        at = (np.arange(2 * length) + 0.5) / 2 - 0.5
        low = np.clip(np.floor(at), 0, length - 2).astype(np.int32)
        return low, np.clip(at - low, 0, 1).astype(np.float32)

    (rows, y), (columns, x) = positions(image.shape[0]), positions(image.shape[1])
    tall = image[rows] * (1 - y)[:, None] + image[rows + 1] * y[:, None]
    return tall[:, columns] * (1 - x) + tall[:, columns + 1] * x


def example_inputs(size: int = 128) -> tuple[Any, ...]:
    y, x = np.mgrid[0:size, 0:size] / size
    return ((0.5 + 0.5 * np.sin(20 * x * y + 8 * y)).astype(np.float32),)
