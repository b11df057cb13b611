"""Levenshtein distance: the number of edits that turn one word into another."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def levenshtein(a: rl.Array, b: rl.Array) -> rl.Array:
    positions = rl.arange(len(b) + 1, dtype=rl.i32)

    def next_row(row: rl.Array, letter: rl.Array) -> rl.Array:
        replaced = row[:-1] + (b != letter).astype(rl.i32)
        without_insertion = rl.concatenate([row[:1] + 1, rl.min(replaced, row[1:] + 1)])
        return rl.scan(rl.min, 2**30, without_insertion - positions) + positions

    return rl.reduce(next_row, positions, a)[-1]


def expected(a: Any, b: Any) -> Any:
    positions = np.arange(len(b) + 1, dtype=np.int32)
    row = positions
    for letter in a:
        replaced = row[:-1] + (b != letter)
        without_insertion = np.concatenate([row[:1] + 1, np.minimum(replaced, row[1:] + 1)])
        row = np.minimum.accumulate(without_insertion - positions) + positions
    return row[-1].astype(np.int32)


def example_inputs(size: int = 500) -> tuple[Any, ...]:
    random = np.random.default_rng(26)
    a = random.integers(0, 4, size).astype(np.int32)
    b = np.where(random.random(size) < 0.2, random.integers(0, 4, size), a).astype(np.int32)
    return a, b[: size - size // 10]


def summary(distance: Any) -> str:
    return f"the distance is {distance}"
