"""PageRank: 20 steps of the power method on a graph that is a list of edges."""

from typing import Any

import numpy as np

import riselang as rl

DAMPING = 0.85


@rl.jit
def pagerank(sources: rl.Array, targets: rl.Array, degrees: rl.Array) -> rl.Array:
    nodes: int = degrees.shape[0]

    def step(rank: rl.Array) -> rl.Array:
        shares = rank / rl.max(degrees, 1.0)
        received = rl.zeros(nodes).at[targets].add(shares[sources])
        leaked = rl.where(degrees == 0, rank, 0.0).sum()
        return (1 - DAMPING) / nodes + DAMPING * (received + leaked / nodes)

    return rl.iterate(20, step, rl.full(nodes, 1 / nodes, rl.f64))


def expected(sources: Any, targets: Any, degrees: Any) -> Any:
    nodes = len(degrees)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(20):
        shares = rank / np.maximum(degrees, 1)
        received = np.bincount(targets, shares[sources], minlength=nodes)
        leaked = rank[degrees == 0].sum()
        rank = (1 - DAMPING) / nodes + DAMPING * (received + leaked / nodes)
    return rank


def example_inputs(size: int = 5000) -> tuple[Any, ...]:
    random = np.random.default_rng(13)
    sources = random.integers(0, size, 8 * size)
    targets = (size * random.random(8 * size) ** 3).astype(np.int64)
    return sources, targets, np.bincount(sources, minlength=size).astype(np.float64)


def summary(rank: Any) -> str:
    return f"the nodes with the highest ranks are {np.argsort(-rank)[:5].tolist()}"
