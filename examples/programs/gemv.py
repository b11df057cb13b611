"""alpha * A x + beta * y, as in BLAS."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def dot(a: rl.Array, b: rl.Array) -> rl.Array:
    return rl.zip(a, b) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


@rl.jit
def gemv(
    alpha: Annotated[rl.Array, rl.f32],
    A: Annotated[rl.Array, "N", "M", rl.f32],
    x: Annotated[rl.Array, "M", rl.f32],
    beta: Annotated[rl.Array, rl.f32],
    y: Annotated[rl.Array, "N", rl.f32],
) -> rl.Array:
    return rl.zip(A, y) | rl.map(lambda row, e: alpha * dot(row, x) + beta * e)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(4)
    A, x, y = (random.random(shape, np.float32) for shape in ((5, 7), 7, 5))
    return np.float32(1.5), A, x, np.float32(0.5), y


def expected(alpha: Any, A: Any, x: Any, beta: Any, y: Any) -> Any:
    return alpha * (A @ x) + beta * y
