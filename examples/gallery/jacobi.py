"""Jacobi method: solves a diagonally dominant system A x = b in 50 steps."""

from typing import Any

import numpy as np

import riselang as rl

rnp = rl.numpy


@rl.jit(float="relaxed")
def jacobi(A: rl.Array, b: rl.Array) -> rl.Array:
    diagonal = rnp.diagonal(A)
    return rl.iterate(50, lambda x: x + (b - A @ x) / diagonal, rl.zeros(b.shape))


def expected(A: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for _ in range(50):
        x = x + (b - A @ x) / np.diagonal(A)
    return x


def example_inputs(size: int = 300) -> tuple[Any, ...]:
    random = np.random.default_rng(17)
    A = random.random((size, size), np.float32)
    return A + size * np.eye(size, dtype=np.float32), random.random(size, np.float32)
