"""Floyd-Warshall: the lengths of the shortest paths between all nodes of a graph."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def floyd_warshall(distances: rl.Array) -> rl.Array:
    def allow(distances: rl.Array, k: rl.Array) -> rl.Array:
        return rl.min(distances, distances[:, k, None] + distances[k])

    return rl.arange(len(distances)) | rl.reduce(allow, distances)


def expected(distances: Any) -> Any:
    for k in range(len(distances)):
        distances = np.minimum(distances, distances[:, k, None] + distances[k])
    return distances


def example_inputs(size: int = 192) -> tuple[Any, ...]:
    random = np.random.default_rng(2)
    lengths = random.uniform(1, 10, (size, size)).astype(np.float32)
    distances = np.where(random.random((size, size)) < 4 / size, lengths, np.float32(np.inf))
    np.fill_diagonal(distances, 0)
    return (distances,)
