"""Mandelbrot set: the number of iterations of z * z + c until |z| exceeds 2."""

from typing import Annotated, Any

import numpy as np

import riselang as rl

STEPS = 50


@rl.jit
def mandelbrot(c: Annotated[rl.Array, "H", "W", rl.complex64]) -> rl.Array:
    def count(c: rl.Array) -> rl.Array:
        def step(z: rl.Array, steps: rl.Array) -> tuple[rl.Array, rl.Array]:
            is_near = z.real**2 + z.imag**2 <= 4
            return rl.where(is_near, z * z + c, z), rl.where(is_near, steps + 1, steps)

        _, steps = rl.iterate(STEPS, step, (c, 0))
        return steps

    return c | rl.map2d(count)


def expected(c: Any) -> Any:
    z, steps = c.copy(), np.zeros(c.shape, np.int32)
    for _ in range(STEPS):
        is_near = z.real**2 + z.imag**2 <= 4
        z[is_near] = z[is_near] ** 2 + c[is_near]
        steps += is_near
    return steps


def example_inputs(size: int = 192) -> tuple[Any, ...]:
    x = np.linspace(-2.1, 0.7, size, dtype=np.float32)
    y = np.linspace(-1.1, 1.1, size * 3 // 4, dtype=np.float32)
    return (x + np.complex64(1j) * y[:, None],)


def picture(steps: Any) -> Any:
    colors = (steps / STEPS)[..., None] ** [0.4, 0.8, 0.25]
    return np.where(steps[..., None] == STEPS, 0.05, colors)
