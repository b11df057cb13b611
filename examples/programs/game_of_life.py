"""One generation of Conway's game of life on a torus; a living cell is 1, a dead one 0."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def pad_wrap2d(xss: rl.Array) -> rl.Array:
    return xss | rl.map(rl.pad_wrap(1, 1)) | rl.pad_wrap(1, 1)


def next_state(cell: rl.Array, window: rl.Array) -> rl.Array:
    total = window | rl.join | rl.reduce(rl.add, 0)
    return rl.where((total == 3) | ((total == 4) & (cell == 1)), 1, 0)


@rl.jit
def game_of_life(board: Annotated[rl.Array, "N", "M", rl.i32]) -> rl.Array:
    windows = pad_wrap2d(board) | rl.slide2d(3, 1)
    return rl.zip2d(board, windows) | rl.map2d(next_state)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(17).integers(0, 2, (6, 7)).astype(np.int32),)


def expected(board: Any) -> Any:
    total = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
    return np.where((total == 3) | ((total == 4) & (board == 1)), 1, 0).astype(board.dtype)
