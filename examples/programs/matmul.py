"""A matrix multiplication: every row with every column."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def matmul(
    A: Annotated[rl.Array, "N", "K", rl.f32], B: Annotated[rl.Array, "K", "M", rl.f32]
) -> rl.Array:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    return random.random((4, 6), np.float32), random.random((6, 5), np.float32)


def expected(A: Any, B: Any) -> Any:
    return A @ B
