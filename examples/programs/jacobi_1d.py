"""One step of Jacobi's method on a line: the mean of each element and its neighbors."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def at1d(i: int, window: rl.Array) -> rl.Array:
    return window | rl.at(rl.clamp_idx(3, i))


@rl.jit
def jacobi_1d(line: Annotated[rl.Array, "N + 2", rl.f32]) -> rl.Array:
    def mean(window: rl.Array) -> rl.Array:
        return 0.33333334 * (at1d(0, window) + at1d(1, window) + at1d(2, window))

    return line | rl.slide(3, 1) | rl.map(mean)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(15).random(11, np.float32),)


def expected(line: Any) -> Any:
    return (line[:-2] + line[1:-1] + line[2:]) / 3
