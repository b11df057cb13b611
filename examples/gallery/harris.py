"""Harris corner detector: where the gradients of an image have two directions."""

from typing import Any

import numpy as np

import riselang as rl


def gradients(image: rl.Array) -> tuple[rl.Array, rl.Array]:
    smooth_y = image[:-2] + 2 * image[1:-1] + image[2:]
    smooth_x = image[:, :-2] + 2 * image[:, 1:-1] + image[:, 2:]
    return smooth_y[:, 2:] - smooth_y[:, :-2], smooth_x[2:] - smooth_x[:-2]


def window_sum(image: rl.Array) -> rl.Array:
    rows = image[:-2] + image[1:-1] + image[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]


def corner_strength(image: rl.Array) -> rl.Array:
    dx, dy = gradients(image)
    xx, xy, yy = window_sum(dx * dx), window_sum(dx * dy), window_sum(dy * dy)
    return xx * yy - xy * xy - 0.05 * (xx + yy) ** 2


harris = rl.jit(corner_strength)
expected = corner_strength


def example_inputs(size: int = 260) -> tuple[Any, ...]:
    y, x = np.mgrid[0:size, 0:size]
    squares = (x * 8 // size + y * 8 // size) % 2
    round_part = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size / 4) ** 2
    return (np.where(round_part, 0.7, 0.2 + 0.6 * squares).astype(np.float32),)


def picture(strength: Any) -> Any:
    return np.clip(strength[::2, ::2] / 20, 0, 1)
