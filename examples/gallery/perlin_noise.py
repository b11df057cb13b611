"""Perlin noise: smooth random texture from random gradients at the corners of a grid."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def perlin_noise(gradients_x: rl.Array, gradients_y: rl.Array, coordinates: rl.Array) -> rl.Array:
    def noise(y: rl.Array, x: rl.Array) -> rl.Array:
        column, row = rl.cast(x, rl.i32), rl.cast(y, rl.i32)
        u, v = x - rl.math.floor(x), y - rl.math.floor(y)

        def corner(dy: int, dx: int) -> rl.Array:
            gx, gy = gradients_x[row + dy, column + dx], gradients_y[row + dy, column + dx]
            return gx * (u - dx) + gy * (v - dy)

        def fade(t: rl.Array) -> rl.Array:
            return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)

        def mix(a: rl.Array, b: rl.Array, t: rl.Array) -> rl.Array:
            return a + t * (b - a)

        top = mix(corner(0, 0), corner(0, 1), fade(u))
        return mix(top, mix(corner(1, 0), corner(1, 1), fade(u)), fade(v))

    return coordinates | rl.map(lambda y: coordinates | rl.map(lambda x: noise(y, x)))


def expected(gradients_x: Any, gradients_y: Any, coordinates: Any) -> Any:
    y, x = coordinates[:, None], coordinates[None, :]
    row, column = y.astype(int), x.astype(int)
    u, v = x - np.floor(x), y - np.floor(y)

    def corner(dy: int, dx: int) -> Any:
        gx, gy = gradients_x[row + dy, column + dx], gradients_y[row + dy, column + dx]
        return gx * (u - dx) + gy * (v - dy)

    def fade(t: Any) -> Any:
        return t * t * t * (t * (t * 6 - 15) + 10)

    def mix(a: Any, b: Any, t: Any) -> Any:
        return a + t * (b - a)

    top = mix(corner(0, 0), corner(0, 1), fade(u))
    return mix(top, mix(corner(1, 0), corner(1, 1), fade(u)), fade(v))


def example_inputs(size: int = 192) -> tuple[Any, ...]:
    angles = np.random.default_rng(25).uniform(0, 2 * np.pi, (9, 9))
    coordinates = np.arange(size) * (8 / size)
    return tuple(x.astype(np.float32) for x in (np.cos(angles), np.sin(angles), coordinates))


def picture(noise: Any) -> Any:
    return np.round((0.5 + 0.6 * noise) * 24) / 24
