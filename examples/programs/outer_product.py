"""The product of each element of x with each element of y."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def outer_product(
    x: Annotated[rl.Array, "N", rl.f32], y: Annotated[rl.Array, "M", rl.f32]
) -> rl.Array:
    return x | rl.map(lambda a: y | rl.map(lambda b: a * b))


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(7)
    return random.random(4, np.float32), random.random(6, np.float32)


def expected(x: Any, y: Any) -> Any:
    return np.outer(x, y)
