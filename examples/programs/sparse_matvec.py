"""A sparse matrix times a vector: each row holds K values and their columns (ELLPACK)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


@rl.jit(sizes="symbolic")
def sparse_matvec(
    values: Annotated[rl.Array, "N", "K", rl.f32],
    columns: Annotated[rl.Array, "N", "K", rl.i32],
    x: Annotated[rl.Array, "M", rl.f32],
) -> rl.Array:
    """Short rows are padded with zeros."""

    def product(row: rl.Array, places: rl.Array) -> rl.Array:
        chosen = x | rl.gather(places | rl.map(rl.clamp_idx("M")))
        return rl.zip(row, chosen) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return rl.zip(values, columns) | rl.map(product)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(20)
    columns = random.integers(0, 9, (5, 3)).astype(np.int32)
    return random.random((5, 3), np.float32), columns, random.random(9, np.float32)


def expected(values: Any, columns: Any, x: Any) -> Any:
    return (values * x[columns]).sum(axis=1)
