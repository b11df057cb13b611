"""The sums of all prefixes: element i is x[0] + ... + x[i]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit
def prefix_sum(x: Annotated[rl.Array, "N", rl.i32]) -> rl.Array:
    return x | rl.scan(rl.add, 0)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(14).integers(-9, 10, 12).astype(np.int32),)


def expected(x: Any) -> Any:
    return np.cumsum(x, dtype=x.dtype)
