"""One step of a bitonic merge: elements half the length apart are compared and sorted."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def opposite(x: rl.Array) -> rl.Array:
    return rl.zip(x | rl.take("N"), x | rl.drop("N"))


@rl.jit(sizes="symbolic")
def bitonic_merge(x: Annotated[rl.Array, "2 * N", rl.i32]) -> rl.Array:
    """For a bitonic input, no element of the first half exceeds one of the second half."""
    return rl.concat(x | opposite | rl.map(rl.min), x | opposite | rl.map(rl.max))


def inputs() -> tuple[Any, ...]:
    keys = np.random.default_rng(21).integers(0, 100, 16).astype(np.int32)
    return (np.concatenate([np.sort(keys[:8]), np.sort(keys[8:])[::-1]]),)


def expected(x: Any) -> Any:
    first, second = np.split(x, 2)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)])
