"""The mean of each element and its two neighbors, with repeated edges."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def stencil_1d(x: Annotated[rl.Array, "N", rl.f32]) -> rl.Array:
    return (
        x
        | rl.pad(1, 1)
        | rl.slide(3, 1)
        | rl.map(lambda window: (window | rl.reduce(rl.add, 0.0)) / 3.0)
    )


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(8).random(10, np.float32),)


def expected(x: Any) -> Any:
    padded = np.pad(x, 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3
