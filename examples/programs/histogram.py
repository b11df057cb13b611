"""The number of occurrences of each key, added to earlier counts."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit(sizes="symbolic")
def histogram(
    counts: Annotated[rl.Array, "B", rl.i32], keys: Annotated[rl.Array, "N", rl.i32]
) -> rl.Array:
    """A key that is out of range is clamped to the nearest bin."""
    bins = keys | rl.map(rl.clamp_idx("B"))
    return rl.scatter_with(rl.add, bins, counts, keys | rl.map(lambda key: 1))


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(13)
    return np.zeros(5, np.int32), random.integers(-1, 7, 20).astype(np.int32)


def expected(counts: Any, keys: Any) -> Any:
    bins = np.clip(keys, 0, len(counts) - 1)
    return counts + np.bincount(bins, minlength=len(counts)).astype(np.int32)
