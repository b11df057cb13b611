"""Jacobi method: solves a diagonally dominant system A x = b in 50 steps."""

import numpy as np

import riselang as rl

rnp = rl.numpy


@rl.jit(float="relaxed")
def jacobi(A, b):
    diagonal = rnp.diagonal(A)
    return rl.iterate(50, lambda x: x + (b - A @ x) / diagonal, rl.zeros(b.shape))


def expected(A, b):
    x = np.zeros_like(b)
    for _ in range(50):
        x = x + (b - A @ x) / np.diagonal(A)
    return x


def example_inputs(size=300):
    random = np.random.default_rng(17)
    A = random.random((size, size), np.float32)
    return A + size * np.eye(size, dtype=np.float32), random.random(size, np.float32)
