"""Ising model: spins on a torus flip at random; half of a checkerboard at a time."""

from typing import Annotated, Any

import numpy as np

import riselang as rl

SWEEPS, COUPLING = 20, 0.6


@rl.jit(float="relaxed")
def ising(
    spins: Annotated[rl.Array, "N", "N", rl.i32], seeds: Annotated[rl.Array, "N", "N", rl.u32]
) -> rl.Array:
    size = len(spins)
    is_black = np.indices((size, size)).sum(axis=0) % 2 == 0

    def next_seed(seed: rl.Array) -> rl.Array:
        seed = seed ^ (seed << 13)
        seed = seed ^ (seed >> 17)
        return seed ^ (seed << 5)

    def sweep(spins: rl.Array, seeds: rl.Array) -> tuple[rl.Array, rl.Array]:
        for color in (is_black, ~is_black):
            around = rl.roll(spins, 1, 0) + rl.roll(spins, -1, 0)
            around = around + rl.roll(spins, 1, 1) + rl.roll(spins, -1, 1)
            seeds = next_seed(seeds)
            number = (seeds >> 8).astype(rl.f32) / 2**24
            chance = rl.math.exp(-COUPLING * (2 * spins * around).astype(rl.f32))
            spins = rl.where(color & (number < chance), -spins, spins)
        return spins, seeds

    return rl.iterate(SWEEPS, sweep, (spins, seeds))[0]


def expected(spins: Any, seeds: Any) -> Any:
    is_black = np.indices(spins.shape).sum(axis=0) % 2 == 0

    def next_seed(seed: Any) -> Any:
        seed = seed ^ (seed << np.uint32(13))
        seed = seed ^ (seed >> np.uint32(17))
        return seed ^ (seed << np.uint32(5))

    for _ in range(SWEEPS):
        for color in (is_black, ~is_black):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
            around = around + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            seeds = next_seed(seeds)
            number = (seeds >> np.uint32(8)).astype(np.float32) / 2**24
            chance = np.exp(np.float32(-COUPLING) * (2 * spins * around).astype(np.float32))
            spins = np.where(color & (number < chance), -spins, spins)
    return spins


def example_inputs(size: int = 96) -> tuple[Any, ...]:
    random = np.random.default_rng(30)
    spins = random.choice(np.array([-1, 1], np.int32), (size, size))
    return spins, random.integers(1, 2**32, (size, size)).astype(np.uint32)


def picture(spins: Any) -> Any:
    return 0.5 + 0.4 * spins
