"""Attention: each query receives a mean of the values.

The weights of the mean are the softmax of the products of the query and the keys.
"""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def attention(Q: rl.Array, K: rl.Array, V: rl.Array) -> rl.Array:
    scores = Q @ K.T / Q.shape[1] ** 0.5
    weights = rl.math.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ V


def expected(Q: Any, K: Any, V: Any) -> Any:
    scores = Q @ K.T / np.float32(Q.shape[1] ** 0.5)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ V


def example_inputs(size: int = 512) -> tuple[Any, ...]:
    random = np.random.default_rng(1)
    return tuple(random.standard_normal((size, 64), np.float32) for _ in range(3))
