"""The dot product of two vectors."""

from __future__ import annotations

import numpy as np

import riselang as rl


@rl.jit
def dot(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def inputs():
    random = np.random.default_rng(1)
    return random.random(13, np.float32), random.random(13, np.float32)


def expected(x, y):
    return x @ y
