"""N-body simulation: bodies attract each other; ten steps of the leapfrog method."""

from typing import Any

import numpy as np

import riselang as rl

STEP = 0.01


@rl.jit(float="relaxed")
def nbody(positions: rl.Array, velocities: rl.Array, masses: rl.Array) -> rl.Array:
    def accelerations(positions: rl.Array) -> rl.Array:
        offsets = positions[None] - positions[:, None]
        squares = (offsets**2).sum(axis=2) + 0.01
        weights = masses / (squares * rl.math.sqrt(squares))
        return (offsets * weights[:, :, None]).sum(axis=1)

    def step(positions: rl.Array, velocities: rl.Array) -> tuple[rl.Array, rl.Array]:
        velocities = velocities + STEP * accelerations(positions)
        return positions + STEP * velocities, velocities

    return rl.iterate(10, step, (positions, velocities))


def expected(positions: Any, velocities: Any, masses: Any) -> Any:
    for _ in range(10):
        offsets = positions[None] - positions[:, None]
        squares = (offsets**2).sum(axis=2) + np.float32(0.01)
        weights = masses / (squares * np.sqrt(squares))
        velocities = velocities + STEP * (offsets * weights[:, :, None]).sum(axis=1)
        positions = positions + STEP * velocities
    return positions, velocities


def example_inputs(size: int = 256) -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    positions = random.normal(0, 1, (size, 3)).astype(np.float32)
    masses = random.uniform(0.1, 1, size).astype(np.float32)
    return positions, np.zeros_like(positions), masses
