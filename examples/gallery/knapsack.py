"""Knapsack: the greatest value of items with a limited total weight, by dynamic programming."""

import numpy as np

import riselang as rl


@rl.jit(static="capacity")
def knapsack(weights, values, capacity):
    limits = rl.arange(capacity + 1, dtype=rl.i32)

    def add_item(best, item):
        weight, value = item
        before = best[rl.max(limits - weight, 0)] + value
        return rl.where(limits >= weight, rl.max(best, before), best)

    items = rl.zip(weights, values)
    return rl.reduce(add_item, rl.zeros(capacity + 1, rl.i32), items)


def expected(weights, values, capacity):
    best = np.zeros(capacity + 1, np.int32)
    for weight, value in zip(weights, values, strict=True):
        added = best.copy()
        added[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + value)
        best = added
    return best


def example_inputs(size=100):
    random = np.random.default_rng(27)
    weights = random.integers(1, 40, size).astype(np.int32)
    return weights, random.integers(1, 100, size).astype(np.int32), 20 * size


def summary(best):
    return f"the greatest value is {best[-1]}"
