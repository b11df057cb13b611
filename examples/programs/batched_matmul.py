"""A batch of matrix multiplications."""

from __future__ import annotations

import numpy as np

import riselang as rl


def dot(a, b):
    return rl.zip(a, b) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def product(A, B):
    return A | rl.map(lambda row: B | rl.transpose | rl.map(lambda column: dot(row, column)))


@rl.jit
def batched_matmul(As: rl.Array["B", "N", "K", rl.f32], Bs: rl.Array["B", "K", "M", rl.f32]):
    return rl.zip(As, Bs) | rl.map(product)


def inputs():
    random = np.random.default_rng(6)
    return random.random((3, 4, 5), np.float32), random.random((3, 5, 2), np.float32)


def expected(As, Bs):
    return As @ Bs
