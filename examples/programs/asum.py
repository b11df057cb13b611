"""The sum of the absolute values."""

from __future__ import annotations

import numpy as np

import riselang as rl


@rl.jit
def asum(x: rl.Array["N", rl.f32]):
    return x | rl.map(rl.abs) | rl.reduce(rl.add, 0.0)


def inputs():
    return (np.random.default_rng(3).standard_normal(12, np.float32),)


def expected(x):
    return np.abs(x).sum()
