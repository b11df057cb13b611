"""One step of k-means: each center moves to the mean of its nearest points."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def distance(p: rl.Array, q: rl.Array) -> rl.Array:
    return rl.zip(p, q) | rl.map(lambda a, b: (a - b) * (a - b)) | rl.reduce(rl.add, 0.0)


def closer(best: rl.Array, at: rl.Array, d: rl.Array, i: rl.Array) -> tuple[rl.Array, rl.Array]:
    return rl.min(best, d), rl.where(d < best, i, at)


def nearest(centres: rl.Array, point: rl.Array) -> rl.Array:
    distances = centres | rl.map(lambda centre: distance(point, centre))
    numbers = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32))
    smallest = rl.zip(distances, numbers) | rl.reduce(closer, (np.inf, 0))
    return rl.clamp_idx("K", smallest.snd)


def add_vectors(sum: rl.Array, p: rl.Array) -> rl.Array:
    return rl.zip(sum, p) | rl.map(rl.add)


def sums(centres: rl.Array, points: rl.Array, nearests: rl.Array) -> rl.Array:
    return points | rl.scatter_with(add_vectors, nearests, centres | rl.map2d(lambda c: 0.0))


def counts(centres: rl.Array, points: rl.Array, nearests: rl.Array) -> rl.Array:
    zeros = centres | rl.map(lambda centre: 0.0)
    return points | rl.map(lambda point: 1.0) | rl.scatter_with(rl.add, nearests, zeros)


def mean(centre: rl.Array, sum: rl.Array, count: rl.Array) -> rl.Array:
    return rl.zip(centre, sum) | rl.map(lambda c, s: rl.where(count > 0.0, s / count, c))


@rl.jit(sizes="symbolic")
def kmeans_step(
    centres: Annotated[rl.Array, "K", "D", rl.f32], points: Annotated[rl.Array, "N", "D", rl.f32]
) -> rl.Array:
    """A center without points does not move."""
    nearests = points | rl.map(lambda point: nearest(centres, point))
    sums_and_counts = rl.zip(sums(centres, points, nearests), counts(centres, points, nearests))
    return rl.zip(centres, sums_and_counts) | rl.map(mean)


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(16)
    return random.random((4, 2), np.float32), random.random((15, 2), np.float32)


def expected(centres: Any, points: Any) -> Any:
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearests = distances.argmin(axis=1)
    means = centres.copy()
    for k in np.unique(nearests):
        means[k] = points[nearests == k].mean(axis=0)
    return means
