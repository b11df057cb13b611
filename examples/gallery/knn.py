"""k nearest neighbors: classifies points by the labels of the five nearest samples."""

from typing import Any

import numpy as np

import riselang as rl

NEIGHBORS, CLASSES = 5, 3


@rl.jit(float="relaxed")
def knn(samples: rl.Array, labels: rl.Array, points: rl.Array) -> rl.Array:
    products = points @ samples.T
    distances = (samples * samples).sum(axis=1) - 2 * products

    def classify(row: rl.Array) -> rl.Array:
        _, nearest = rl.top_k(NEIGHBORS, -row)
        return rl.zeros(CLASSES, rl.i32).at[labels[nearest]].add(1).argmax()

    return distances | rl.map(classify)


def expected(samples: Any, labels: Any, points: Any) -> Any:
    distances = (samples * samples).sum(axis=1) - 2 * points @ samples.T
    nearest = np.argpartition(distances, NEIGHBORS, axis=1)[:, :NEIGHBORS]
    votes = (labels[nearest][:, :, None] == np.arange(CLASSES)).sum(axis=1)
    return votes.argmax(axis=1)


def example_inputs(size: int = 500) -> tuple[Any, ...]:
    random = np.random.default_rng(15)
    labels = random.integers(0, CLASSES, 2 * size).astype(np.int32)
    centers = random.normal(0, 1, (CLASSES, 8))
    samples = centers[labels] + random.normal(0, 0.8, (2 * size, 8))
    points = centers[random.integers(0, CLASSES, size)] + random.normal(0, 0.8, (size, 8))
    return samples.astype(np.float32), labels, points.astype(np.float32)
