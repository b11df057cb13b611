"""alpha * A x + beta * y, as in BLAS."""

from __future__ import annotations

import numpy as np

import riselang as rl


def dot(a, b):
    return rl.zip(a, b) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


@rl.jit
def gemv(
    alpha: rl.f32,
    A: rl.Array["N", "M", rl.f32],
    x: rl.Array["M", rl.f32],
    beta: rl.f32,
    y: rl.Array["N", rl.f32],
):
    return rl.zip(A, y) | rl.map(lambda row, e: alpha * dot(row, x) + beta * e)


def inputs():
    random = np.random.default_rng(4)
    A, x, y = (random.random(shape, np.float32) for shape in ((5, 7), 7, 5))
    return np.float32(1.5), A, x, np.float32(0.5), y


def expected(alpha, A, x, beta, y):
    return alpha * (A @ x) + beta * y
