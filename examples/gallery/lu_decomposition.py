"""LU decomposition without pivoting: L below the diagonal and U above it, in one matrix."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def lu_decomposition(A: rl.Array) -> rl.Array:
    index = rl.arange(len(A))

    def eliminate(A: rl.Array, k: rl.Array) -> rl.Array:
        is_below = index > k
        factors = rl.where(is_below, A[:, k] / A[k, k], 0.0)
        reduced = A - factors[:, None] * rl.where(is_below, A[k], 0.0)
        return reduced.at[:, k].set(rl.where(is_below, factors, A[:, k]))

    return index | rl.reduce(eliminate, A)


def expected(A: Any) -> Any:
    reduced = A.copy()
    for k in range(len(A)):
        reduced[k + 1 :, k] /= reduced[k, k]
        reduced[k + 1 :, k + 1 :] -= reduced[k + 1 :, k, None] * reduced[k, k + 1 :]
    return reduced


def example_inputs(size: int = 96) -> tuple[Any, ...]:
    A = np.random.default_rng(31).random((size, size))
    return (A + size * np.eye(size),)
