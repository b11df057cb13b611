"""Ray marching: rays advance by the distance to the nearest surface of a scene."""

from typing import Any

import numpy as np

import riselang as rl

STEPS = 48


@rl.jit
def ray_marching(xs: rl.Array, ys: rl.Array) -> rl.Array:
    def shade(y: rl.Array, x: rl.Array) -> rl.Array:
        length = rl.math.sqrt(x * x + y * y + 2.25)
        dx, dy, dz = x / length, y / length, 1.5 / length

        def distances(t: rl.Array) -> tuple[rl.Array, rl.Array]:
            px, py, pz = t * dx, t * dy, t * dz - 3.0
            return rl.math.sqrt(px * px + py * py + pz * pz) - 1.0, py + 1.0

        t = rl.iterate(STEPS, lambda t: t + rl.min(*distances(t)), 0.0)
        to_sphere, to_ground = distances(t)
        on_sphere = 0.5 * t * dx + 0.7 * t * dy - 0.5 * (t * dz - 3.0)
        light = rl.where(to_sphere < to_ground, on_sphere, 0.7 / (1.0 + 0.01 * t * t))
        return rl.clip(light, 0.05, 1.0)

    return ys | rl.map(lambda y: xs | rl.map(lambda x: shade(y, x)))


def expected(xs: Any, ys: Any) -> Any:
    x, y = np.broadcast_arrays(xs, ys[:, None])
    length = np.sqrt(x * x + y * y + np.float32(2.25))
    dx, dy, dz = x / length, y / length, np.float32(1.5) / length

    def distances(t: Any) -> Any:
        px, py, pz = t * dx, t * dy, t * dz - 3
        return np.sqrt(px * px + py * py + pz * pz) - 1, py + 1

    t = np.zeros_like(x)
    for _ in range(STEPS):
        t = t + np.minimum(*distances(t))
    to_sphere, to_ground = distances(t)
    on_sphere = 0.5 * t * dx + 0.7 * t * dy - 0.5 * (t * dz - 3)
    light = np.where(to_sphere < to_ground, on_sphere, 0.7 / (1 + 0.01 * t * t))
    return np.clip(light, 0.05, 1)


def example_inputs(size: int = 192) -> tuple[Any, ...]:
    xs = np.linspace(-1.2, 1.2, size, dtype=np.float32)
    return xs, np.linspace(0.9, -0.9, size * 3 // 4, dtype=np.float32)


def picture(image: Any) -> Any:
    return np.round(image * 48) / 48
