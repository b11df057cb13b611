"""Conjugate gradients: solves a symmetric positive definite system A x = b in 50 steps."""

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def conjugate_gradient(A, b):
    def step(x, residual, direction):
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        remaining = residual - length * image
        next_direction = remaining + remaining @ remaining / squares * direction
        return x + length * direction, remaining, next_direction

    x, _, _ = rl.iterate(50, step, (rl.zeros(b.shape), b, b))
    return x


def expected(A, b):
    x, residual, direction = np.zeros_like(b), b, b
    for _ in range(50):
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        x, residual = x + length * direction, residual - length * image
        direction = residual + residual @ residual / squares * direction
    return x


def example_inputs(size=300):
    random = np.random.default_rng(14)
    factor = random.standard_normal((size, size)) / size**0.5
    return factor @ factor.T + np.eye(size), random.standard_normal(size)
