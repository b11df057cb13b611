"""Knapsack: the greatest value of items with a limited total weight, by dynamic programming."""

import numpy as np

import riselang as rl

MAX_WEIGHT = 40


@rl.jit(static="capacity")
def knapsack(weights, values, capacity):
    def add_item(best, item):
        weight, value = item
        padded = rl.concatenate([rl.full(MAX_WEIGHT, -(2**30), rl.i32), best])
        start = rl.clamp_idx(MAX_WEIGHT + 1, MAX_WEIGHT - weight)
        return rl.max(best, value + rl.slice_at(capacity + 1, start, padded))

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
    weights = random.integers(1, MAX_WEIGHT, size).astype(np.int32)
    return weights, random.integers(1, 100, size).astype(np.int32), 20 * size


def summary(best):
    return f"the greatest value is {best[-1]}"
