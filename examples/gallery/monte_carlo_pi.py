"""Monte Carlo estimate of pi: how many points of a xorshift generator are in a quarter circle."""

from typing import Annotated, Any

import numpy as np

import riselang as rl

POINTS = 100


def next_number(state: rl.Array) -> rl.Array:
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


@rl.jit
def monte_carlo_pi(seeds: Annotated[rl.Array, "N", rl.u32]) -> rl.Array:
    def unit(state: rl.Array) -> rl.Array:
        """The upper bits are the fraction of a float between 1 and 2."""
        return rl.bitcast((state >> 9) | 0x3F800000, rl.f32) - 1.0

    def count(seed: rl.Array) -> rl.Array:
        def step(state: rl.Array, hits: rl.Array) -> tuple[rl.Array, rl.Array]:
            first = next_number(state)
            second = next_number(first)
            x, y = unit(first), unit(second)
            return second, rl.where(x * x + y * y < 1.0, hits + 1, hits)

        return rl.iterate(POINTS, step, (seed, 0))[1]

    return seeds | rl.map(count)


def expected(seeds: Any) -> Any:
    def unit(state: Any) -> Any:
        return ((state >> 9) | 0x3F800000).view(np.float32) - 1

    hits = np.zeros(len(seeds), np.int32)
    for _ in range(POINTS):
        first = next_number(seeds)
        seeds = next_number(first)
        x, y = unit(first), unit(seeds)
        hits += x * x + y * y < 1
    return hits


def example_inputs(size: int = 10_000) -> tuple[Any, ...]:
    return (np.random.default_rng(23).integers(1, 2**32, size).astype(np.uint32),)


def summary(hits: Any) -> str:
    return f"pi is about {4 * hits.sum() / (POINTS * len(hits)):.4f}"
