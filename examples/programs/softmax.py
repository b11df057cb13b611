"""The exponentials of the elements, divided by their sum."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def softmax(x: Annotated[rl.Array, "N", rl.f32]) -> rl.Array:
    """The maximum is subtracted first, to prevent overflow."""
    largest = x | rl.reduce(rl.max, -np.inf)
    powers = x | rl.map(lambda e: rl.math.exp(e - largest))
    total = powers | rl.reduce(rl.add, 0.0)
    return powers | rl.map(lambda p: p / total)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(18).standard_normal(9, np.float32),)


def expected(x: Any) -> Any:
    powers = np.exp(x - x.max())
    return powers / powers.sum()
