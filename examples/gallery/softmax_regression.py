"""Softmax regression: one step of gradient descent, and the loss before it."""

from typing import Any

import numpy as np

import riselang as rl

RATE = 0.1


@rl.jit(float="relaxed")
def softmax_regression(
    weights: rl.Array, bias: rl.Array, x: rl.Array, labels: rl.Array
) -> tuple[rl.Array, rl.Array, rl.Array]:
    scores = x @ weights + bias
    exponentials = rl.math.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    chosen = rl.take_along(probabilities, labels[:, None], axis=1)
    loss = -rl.math.log(chosen).mean()
    is_label = labels[:, None] == rl.arange(bias.shape[0], dtype=rl.i32)
    errors = (probabilities - is_label.astype(rl.f32)) / len(x)
    return loss, weights - RATE * (x.T @ errors), bias - RATE * errors.sum(axis=0)


def expected(weights: Any, bias: Any, x: Any, labels: Any) -> Any:
    scores = x @ weights + bias
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    chosen = np.take_along_axis(probabilities, labels[:, None], axis=1)
    is_label = labels[:, None] == np.arange(len(bias))
    errors = (probabilities - is_label.astype(np.float32)) / np.float32(len(x))
    return -np.log(chosen).mean(), weights - RATE * (x.T @ errors), bias - RATE * errors.sum(axis=0)


def example_inputs(size: int = 1000) -> tuple[Any, ...]:
    random = np.random.default_rng(19)
    x = random.standard_normal((size, 64), np.float32)
    weights = random.standard_normal((64, 10), np.float32) / 8
    labels = random.integers(0, 10, size).astype(np.int32)
    return weights, np.zeros(10, np.float32), x, labels


def summary(result: Any) -> str:
    return f"the loss is {float(result[0]):.4f}"
