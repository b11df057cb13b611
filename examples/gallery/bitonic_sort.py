"""Bitonic sorting network: compares and exchanges elements in an order that is fixed."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def bitonic_sort(x: rl.Array) -> rl.Array:
    index = rl.arange(len(x), dtype=rl.i32)
    for run, distance in comparisons(len(x)):
        partner = x.reshape(-1, 2, distance)[:, ::-1].reshape(-1)
        takes_lower = ((index & run) == 0) == ((index & distance) == 0)
        x = rl.where(takes_lower, rl.min(x, partner), rl.max(x, partner))
    return x


def comparisons(length: int) -> list[tuple[int, int]]:
    """The length of the sorted runs and the distance of the elements, for each comparison."""
    exponents = range(1, length.bit_length())
    return [(1 << run, 1 << step) for run in exponents for step in reversed(range(run))]


def expected(x: Any) -> Any:
    index = np.arange(len(x))
    for run, distance in comparisons(len(x)):
        partner = x[index ^ distance]
        takes_lower = ((index & run) == 0) == ((index & distance) == 0)
        x = np.where(takes_lower, np.minimum(x, partner), np.maximum(x, partner))
    return x


def example_inputs(size: int = 1024) -> tuple[Any, ...]:
    return (np.random.default_rng(12).random(size, np.float32),)
