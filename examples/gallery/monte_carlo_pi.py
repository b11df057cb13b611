"""Monte Carlo estimate of pi: how many points of a xorshift generator are in a quarter circle."""

import numpy as np

import riselang as rl

POINTS = 100


def next_number(state):
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


@rl.jit
def monte_carlo_pi(seeds: rl.Array["N", rl.u32]):
    def unit(state):
        """The upper bits are the fraction of a float between 1 and 2."""
        return rl.bitcast((state >> 9) | 0x3F800000, rl.f32) - 1.0

    def count(seed):
        def step(state, hits):
            first = next_number(state)
            second = next_number(first)
            x, y = unit(first), unit(second)
            return second, rl.where(x * x + y * y < 1.0, hits + 1, hits)

        return rl.iterate(POINTS, step, (seed, 0))[1]

    return seeds | rl.map(count)


def expected(seeds):
    def unit(state):
        return ((state >> 9) | 0x3F800000).view(np.float32) - 1

    hits = np.zeros(len(seeds), np.int32)
    for _ in range(POINTS):
        first = next_number(seeds)
        seeds = next_number(first)
        x, y = unit(first), unit(seeds)
        hits += x * x + y * y < 1
    return hits


def example_inputs(size=10_000):
    return (np.random.default_rng(23).integers(1, 2**32, size).astype(np.uint32),)


def summary(hits):
    return f"pi is about {4 * hits.sum() / (POINTS * len(hits)):.4f}"
