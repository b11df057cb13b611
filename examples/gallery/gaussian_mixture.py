"""Gaussian mixture: the responsibility of each component for each point."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def gaussian_mixture(
    points: rl.Array, weights: rl.Array, means: rl.Array, deviations: rl.Array
) -> rl.Array:
    scaled = (points[:, None] - means) / deviations
    densities = rl.math.exp(-0.5 * (scaled * scaled).sum(axis=2))
    joint = densities * weights / deviations.prod(axis=1)
    return joint / joint.sum(axis=1, keepdims=True)


def expected(points: Any, weights: Any, means: Any, deviations: Any) -> Any:
    scaled = (points[:, None] - means) / deviations
    densities = np.exp(np.float32(-0.5) * (scaled * scaled).sum(axis=2))
    joint = densities * weights / deviations.prod(axis=1)
    return joint / joint.sum(axis=1, keepdims=True)


def example_inputs(size: int = 20_000) -> tuple[Any, ...]:
    random = np.random.default_rng(28)
    means = random.uniform(-2, 2, (4, 2)).astype(np.float32)
    points = random.normal(0, 1.5, (size, 2)).astype(np.float32)
    deviations = random.uniform(0.5, 1.5, (4, 2)).astype(np.float32)
    return points, np.full(4, 0.25, np.float32), means, deviations
