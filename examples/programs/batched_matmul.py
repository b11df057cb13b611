"""A batch of matrix multiplications."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def dot(a: rl.Array, b: rl.Array) -> rl.Array:
    return rl.zip(a, b) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def product(A: rl.Array, B: rl.Array) -> rl.Array:
    return A | rl.map(lambda row: B | rl.transpose | rl.map(lambda column: dot(row, column)))


@rl.jit
def batched_matmul(
    As: Annotated[rl.Array, "B", "N", "K", rl.f32], Bs: Annotated[rl.Array, "B", "K", "M", rl.f32]
) -> rl.Array:
    return rl.zip(As, Bs) | rl.map(product)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(6)
    return random.random((3, 4, 5), np.float32), random.random((3, 5, 2), np.float32)


def expected(As: Any, Bs: Any) -> Any:
    return As @ Bs
