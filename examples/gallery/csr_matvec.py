"""Sparse matrix-vector multiplication: rows are stored as CSR (compressed sparse rows)."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def csr_matvec(values: rl.Array, columns: rl.Array, starts: rl.Array, x: rl.Array) -> rl.Array:
    products = values * x[columns]
    sums = rl.concatenate([rl.zeros(1), rl.cumsum(products)])
    return sums[starts[1:]] - sums[starts[:-1]]


def expected(values: Any, columns: Any, starts: Any, x: Any) -> Any:
    return np.add.reduceat(values * x[columns], starts[:-1])


def example_inputs(size: int = 10_000) -> tuple[Any, ...]:
    random = np.random.default_rng(9)
    counts = random.integers(1, 16, size)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = random.integers(0, size, starts[-1]).astype(np.int32)
    return random.random(len(columns)), columns, starts, random.random(size)
