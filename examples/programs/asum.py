"""The sum of the absolute values."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def asum(x: Annotated[rl.Array, "N", rl.f32]) -> rl.Array:
    return x | rl.map(rl.abs) | rl.reduce(rl.add, 0.0)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(3).standard_normal(12, np.float32),)


def expected(x: Any) -> Any:
    return np.abs(x).sum()
