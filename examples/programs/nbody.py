"""The gravitational acceleration of each body due to all others, with softening."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def pull(here: rl.Array, there: rl.Array, mass: rl.Array) -> rl.Array:
    way = rl.zip(there, here) | rl.map(rl.sub)
    square = way | rl.map(lambda c: c * c) | rl.reduce(rl.add, 0.01)
    strength = mass / (square * rl.math.sqrt(square))
    return way | rl.map(lambda c: strength * c)


@rl.jit
def nbody(
    positions: Annotated[rl.Array, "N", 3, rl.f32], masses: Annotated[rl.Array, "N", rl.f32]
) -> rl.Array:
    def acceleration(here: rl.Array) -> rl.Array:
        pulls = rl.zip(positions, masses) | rl.map(lambda there, mass: pull(here, there, mass))
        return pulls | rl.transpose | rl.map(rl.reduce(rl.add, 0.0))

    return positions | rl.map(acceleration)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(15)
    return random.random((6, 3), np.float32), random.random(6, np.float32)


def expected(positions: Any, masses: Any) -> Any:
    way = positions[None, :, :] - positions[:, None, :]
    square = (way**2).sum(axis=2) + np.float32(0.01)
    return (way * (masses / square**1.5)[:, :, None]).sum(axis=1)
