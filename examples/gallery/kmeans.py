"""k-means: ten steps of Lloyd's algorithm, which moves each center to the mean of its points."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit(float="relaxed")
def kmeans(points: rl.Array, centers: rl.Array) -> rl.Array:
    def step(centers: rl.Array) -> rl.Array:
        distances = ((points[:, None] - centers) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        sums = rl.zeros(centers.shape).at[nearest].add(points)
        counts = rl.zeros(centers.shape[0]).at[nearest].add(1.0)
        return sums / rl.max(counts, 1.0)[:, None]

    return rl.iterate(10, step, centers)


def expected(points: Any, centers: Any) -> Any:
    for _ in range(10):
        distances = ((points[:, None] - centers) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        sums, counts = np.zeros_like(centers), np.zeros(len(centers), np.float32)
        np.add.at(sums, nearest, points)
        np.add.at(counts, nearest, 1)
        centers = sums / np.maximum(counts, 1)[:, None]
    return centers


def example_inputs(size: int = 10_000) -> tuple[Any, ...]:
    random = np.random.default_rng(4)
    clusters = random.uniform(-1, 1, (8, 2))
    points = clusters[random.integers(0, 8, size)] + random.normal(0, 0.1, (size, 2))
    return points.astype(np.float32), points[:8].astype(np.float32)
