"""Wave equation: a drop in a basin with fixed edges; 100 leapfrog steps."""

from typing import Any

import numpy as np

import riselang as rl

SPEED = 0.25


def acceleration(height: rl.Array) -> rl.Array:
    around = height[:-2, 1:-1] + height[2:, 1:-1] + height[1:-1, :-2] + height[1:-1, 2:]
    return SPEED * (around - 4 * height[1:-1, 1:-1])


@rl.jit
def wave_equation(height: rl.Array) -> rl.Array:
    def step(before: rl.Array, now: rl.Array) -> tuple[rl.Array, rl.Array]:
        later = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + acceleration(now)
        return now, now.at[1:-1, 1:-1].set(later)

    return rl.iterate(100, step, (height, height))[1]


def expected(height: Any) -> Any:
    before = now = height
    for _ in range(100):
        later = now.copy()
        later[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + acceleration(now)
        before, now = now, later
    return now


def example_inputs(size: int = 128) -> tuple[Any, ...]:
    y, x = np.mgrid[0:size, 0:size] / size
    return (np.exp(-60 * ((x - 0.3) ** 2 + (y - 0.4) ** 2)).astype(np.float32),)


def picture(height: Any) -> Any:
    return np.round((0.5 + 2 * height) * 32) / 32
