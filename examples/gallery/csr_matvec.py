"""Sparse matrix-vector multiplication: rows are stored as CSR (compressed sparse rows)."""

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def csr_matvec(values, columns, starts, x):
    products = values * x[columns]
    sums = rl.concatenate([rl.zeros(1), rl.cumsum(products)])
    return sums[starts[1:]] - sums[starts[:-1]]


def expected(values, columns, starts, x):
    return np.add.reduceat(values * x[columns], starts[:-1])


def example_inputs(size=10_000):
    random = np.random.default_rng(9)
    counts = random.integers(1, 16, size)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = random.integers(0, size, starts[-1]).astype(np.int32)
    return random.random(len(columns)), columns, starts, random.random(size)
