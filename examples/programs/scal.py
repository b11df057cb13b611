"""A vector times a scalar."""

from __future__ import annotations

import numpy as np

import riselang as rl


@rl.jit
def scal(alpha: rl.f32, x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda e: alpha * e)


def inputs():
    random = np.random.default_rng(2)
    return np.float32(2.5), random.random(11, np.float32)


def expected(alpha, x):
    return alpha * x
