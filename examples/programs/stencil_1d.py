"""The mean of each element and its two neighbors, with repeated edges."""

from __future__ import annotations

import numpy as np

import riselang as rl


@rl.jit
def stencil_1d(x: rl.Array["N", rl.f32]):
    return (
        x
        | rl.pad(1, 1)
        | rl.slide(3, 1)
        | rl.map(lambda window: (window | rl.reduce(rl.add, 0.0)) / 3.0)
    )


def inputs():
    return (np.random.default_rng(8).random(10, np.float32),)


def expected(x):
    padded = np.pad(x, 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3
