"""Conjugate gradients: solves a symmetric positive definite system A x = b in 50 steps."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def conjugate_gradient(A: rl.Array, b: rl.Array) -> rl.Array:
    def step(
        x: rl.Array, residual: rl.Array, direction: rl.Array
    ) -> tuple[rl.Array, rl.Array, rl.Array]:
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        remaining = residual - length * image
        next_direction = remaining + remaining @ remaining / squares * direction
        return x + length * direction, remaining, next_direction

    x, _, _ = rl.iterate(50, step, (rl.zeros(b.shape), b, b))
    return x


def expected(A: Any, b: Any) -> Any:
    x, residual, direction = np.zeros_like(b), b, b
    for _ in range(50):
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        x, residual = x + length * direction, residual - length * image
        direction = residual + residual @ residual / squares * direction
    return x


def example_inputs(size: int = 300) -> tuple[Any, ...]:
    random = np.random.default_rng(14)
    factor = random.standard_normal((size, size)) / size**0.5
    return factor @ factor.T + np.eye(size), random.standard_normal(size)
