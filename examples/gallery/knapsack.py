"""Knapsack: the greatest value of items with a limited total weight, by dynamic programming."""

from typing import Any

import numpy as np

import riselang as rl

MAX_WEIGHT = 40


@rl.jit(static="capacity")
def knapsack(weights: rl.Array, values: rl.Array, capacity: rl.Array) -> rl.Array:
    def add_item(best: rl.Array, item: rl.Array) -> rl.Array:
        weight, value = item
        padded = rl.concatenate([rl.full(MAX_WEIGHT, -(2**30), rl.i32), best])
        start = rl.clamp_idx(MAX_WEIGHT + 1, MAX_WEIGHT - weight)
        return rl.max(best, value + rl.slice_at(capacity + 1, start, padded))

    items = rl.zip(weights, values)
    return rl.reduce(add_item, rl.zeros(capacity + 1, rl.i32), items)


def expected(weights: Any, values: Any, capacity: Any) -> Any:
    best = np.zeros(capacity + 1, np.int32)
    for weight, value in zip(weights, values, strict=True):
        added = best.copy()
        added[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + value)
        best = added
    return best


def example_inputs(size: int = 100) -> tuple[Any, ...]:
    random = np.random.default_rng(27)
    weights = random.integers(1, MAX_WEIGHT, size).astype(np.int32)
    return weights, random.integers(1, 100, size).astype(np.int32), 20 * size


def summary(best: Any) -> str:
    return f"the greatest value is {best[-1]}"
