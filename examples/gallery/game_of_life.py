"""Conway's Game of Life on a torus: 50 generations."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def game_of_life(board: rl.Array) -> rl.Array:
    def generation(board: rl.Array) -> rl.Array:
        rows = rl.roll(board, 1, 0) + board + rl.roll(board, -1, 0)
        around = rl.roll(rows, 1, 1) + rows + rl.roll(rows, -1, 1)
        return ((around == 3) | ((around == 4) & (board == 1))).astype(rl.u8)

    return rl.iterate(50, generation, board)


def expected(board: Any) -> Any:
    for _ in range(50):
        rows = np.roll(board, 1, 0) + board + np.roll(board, -1, 0)
        around = np.roll(rows, 1, 1) + rows + np.roll(rows, -1, 1)
        board = ((around == 3) | ((around == 4) & (board == 1))).astype(np.uint8)
    return board


def example_inputs(size: int = 128) -> tuple[Any, ...]:
    return ((np.random.default_rng(6).random((size, size)) < 0.3).astype(np.uint8),)


def picture(board: Any) -> Any:
    return 1 - 0.85 * board
