"""The dot product of two vectors."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def dot(x: Annotated[rl.Array, "N", rl.f32], y: Annotated[rl.Array, "N", rl.f32]) -> rl.Array:
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(1)
    return random.random(13, np.float32), random.random(13, np.float32)


def expected(x: Any, y: Any) -> Any:
    return x @ y
