"""A vector times a scalar."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def scal(alpha: Annotated[rl.Array, rl.f32], x: Annotated[rl.Array, "N", rl.f32]) -> rl.Array:
    return x | rl.map(lambda e: alpha * e)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(2)
    return np.float32(2.5), random.random(11, np.float32)


def expected(alpha: Any, x: Any) -> Any:
    return alpha * x
