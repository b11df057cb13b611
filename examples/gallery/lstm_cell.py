"""Long short-term memory: a recurrent layer over a sequence, for a batch."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def lstm_cell(inputs: rl.Array, weights: rl.Array, recurrent: rl.Array, bias: rl.Array) -> rl.Array:
    batch, units = inputs.shape[1], recurrent.shape[0]

    def sigmoid(x: rl.Array) -> rl.Array:
        return 1 / (1 + rl.math.exp(-x))

    def step(state: rl.Array, x: rl.Array) -> tuple[rl.Array, rl.Array]:
        hidden, cell = state
        gates = x @ weights + hidden @ recurrent + bias
        keep, add = sigmoid(gates[:, :units]), sigmoid(gates[:, units : 2 * units])
        show, new = sigmoid(gates[:, 2 * units : 3 * units]), rl.math.tanh(gates[:, 3 * units :])
        cell = keep * cell + add * new
        return show * rl.math.tanh(cell), cell

    zeros = rl.zeros((batch, units))
    return rl.reduce(step, (zeros, zeros), inputs)[0]


def expected(inputs: Any, weights: Any, recurrent: Any, bias: Any) -> Any:
    batch, units = inputs.shape[1], len(recurrent)

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    hidden = cell = np.zeros((batch, units), np.float32)
    for x in inputs:
        gates = x @ weights + hidden @ recurrent + bias
        keep, add, show = (sigmoid(gates[:, k * units : (k + 1) * units]) for k in range(3))
        cell = keep * cell + add * np.tanh(gates[:, 3 * units :])
        hidden = show * np.tanh(cell)
    return hidden


def example_inputs(size: int = 64) -> tuple[Any, ...]:
    random = np.random.default_rng(20)
    inputs = random.standard_normal((size, 16, 32), np.float32)
    weights = random.standard_normal((32, 4 * size), np.float32) / 6
    recurrent = random.standard_normal((size, 4 * size), np.float32) / 8
    return inputs, weights, recurrent, np.zeros(4 * size, np.float32)
