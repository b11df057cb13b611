"""N-body simulation: bodies attract each other; ten steps of the leapfrog method."""

import numpy as np

import riselang as rl

STEP = 0.01


@rl.jit(float="relaxed")
def nbody(positions, velocities, masses):
    def accelerations(positions):
        offsets = positions[None] - positions[:, None]
        squares = (offsets**2).sum(axis=2) + 0.01
        weights = masses / (squares * rl.math.sqrt(squares))
        return (offsets * weights[:, :, None]).sum(axis=1)

    def step(positions, velocities):
        velocities = velocities + STEP * accelerations(positions)
        return positions + STEP * velocities, velocities

    return rl.iterate(10, step, (positions, velocities))


def expected(positions, velocities, masses):
    for _ in range(10):
        offsets = positions[None] - positions[:, None]
        squares = (offsets**2).sum(axis=2) + np.float32(0.01)
        weights = masses / (squares * np.sqrt(squares))
        velocities = velocities + STEP * (offsets * weights[:, :, None]).sum(axis=1)
        positions = positions + STEP * velocities
    return positions, velocities


def example_inputs(size=256):
    random = np.random.default_rng(5)
    positions = random.normal(0, 1, (size, 3)).astype(np.float32)
    masses = random.uniform(0.1, 1, size).astype(np.float32)
    return positions, np.zeros_like(positions), masses
