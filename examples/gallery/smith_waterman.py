"""Smith-Waterman: the best score of a local alignment of two sequences."""

from typing import Any

import numpy as np

import riselang as rl

MATCH, MISMATCH, GAP = 3, -3, 2


@rl.jit
def smith_waterman(a: rl.Array, b: rl.Array) -> rl.Array:
    offsets = rl.arange(len(b), dtype=rl.i32) * GAP

    def next_row(state: rl.Array, letter: rl.Array) -> tuple[rl.Array, rl.Array]:
        row, best = state
        similarity = rl.where(b == letter, MATCH, MISMATCH)
        shifted = rl.concatenate([rl.zeros(1, rl.i32), row[:-1]])
        without_left = rl.max(rl.max(shifted + similarity, row - GAP), 0)
        row = rl.scan(rl.max, 0, without_left + offsets) - offsets
        return row, rl.max(best, row.max())

    start = (rl.zeros(len(b), rl.i32), rl.literal(0, rl.i32))
    return rl.reduce(next_row, start, a)[1]


def expected(a: Any, b: Any) -> Any:
    offsets = np.arange(len(b), dtype=np.int32) * GAP
    row, best = np.zeros(len(b), np.int32), np.int32(0)
    for letter in a:
        similarity = np.where(b == letter, MATCH, MISMATCH)
        shifted = np.concatenate([[0], row[:-1]])
        without_left = np.maximum(np.maximum(shifted + similarity, row - GAP), 0)
        row = np.maximum.accumulate(without_left + offsets) - offsets
        best = np.maximum(best, row.max())
    return best.astype(np.int32)


def example_inputs(size: int = 500) -> tuple[Any, ...]:
    random = np.random.default_rng(10)
    a = random.integers(0, 4, size).astype(np.int32)
    b = np.where(random.random(size) < 0.2, random.integers(0, 4, size), a).astype(np.int32)
    return a, b


def summary(score: Any) -> str:
    return f"the best score is {score}"
