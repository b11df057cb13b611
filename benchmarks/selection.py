"""Programs with `scatter`, `reduce` over pairs and `sort |> take` beside rivals; on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from rivals import Version, compare, has, in_numba, is_small, pin

import riselang as rl

BINS = 64
TYPES: dict[Any, Any] = {np.float32: rl.f32, np.float64: rl.f64, np.int32: rl.i32}


def ours(function: Callable[..., Any], *arguments: Any) -> Version:
    kernel = rl.jit(function)
    return Version("riselang", lambda: kernel(*arguments), kernel(*arguments))


def theirs(name: str, function: Callable[..., Any], *arguments: Any) -> Version:
    return Version(name, lambda: function(*arguments), function(*arguments))


def measure_argmax(length: int, dtype: Any, rounds: int) -> None:
    def argmax(x: Any) -> Any:
        return rl.argmax(x)

    argmax.__annotations__["x"] = rl.Array[length, TYPES[dtype]]
    x = (np.random.default_rng(0).standard_normal(length) * 1e6).astype(dtype)
    name = f"argmax {length} {np.dtype(dtype).name}"
    compare(name, [ours(argmax, x)], [theirs("numpy", np.argmax, x)], rounds, bound=1.1)
    if dtype is np.float32:
        x = np.sort(x)
        rivals = [theirs("numpy", np.argmax, x)]
        compare(f"{name} ascending", [ours(argmax, x)], rivals, rounds, bound=None)


def count_keys(keys: Any, counts: Any) -> None:
    counts[:] = 0
    for key in keys:
        counts[key] += 1


def measure_histogram(length: int, rounds: int) -> None:
    def histogram(keys: Any) -> Any:
        zeros = rl.generate(lambda i: rl.literal(0, rl.i32), n=BINS)
        ones = keys | rl.map(lambda key: rl.literal(1, rl.i32))
        return rl.scatter_with(rl.add, keys | rl.map(rl.clamp_idx(BINS)), zeros, ones)

    histogram.__annotations__["keys"] = rl.Array[length, rl.i32]
    random = np.random.default_rng(0).integers(0, BINS, length).astype(np.int32)
    for name, keys in (("random", random), ("equal", np.full(length, 3, np.int32))):
        rivals = [theirs("numpy", lambda keys: np.bincount(keys, minlength=BINS), keys)]
        rivals += _count_in_numba(keys)
        compare(f"histogram {length} {name} keys", [ours(histogram, keys)], rivals, rounds)


def _count_in_numba(keys: Any) -> Iterator[Version]:
    if has("numba"):
        counts, count = np.zeros(BINS, np.int32), in_numba(count_keys, 1)
        count(keys, counts)
        yield Version("numba", lambda: count(keys, counts), counts)


def sieve_in_numpy(length: int) -> Any:
    is_prime = np.ones(length, np.bool_)
    is_prime[:2] = False
    for number in range(2, int(length**0.5) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = False
    return is_prime


def measure_sieve(length: int, rounds: int) -> None:
    primes = np.flatnonzero(sieve_in_numpy(int(length**0.5) + 1))

    def sieve() -> Any:
        is_prime = rl.generate(lambda i: rl.from_idx(i) >= 2, n=length)
        for prime in map(int, primes):
            count = len(range(prime * prime, length, prime))
            is_prime = rl.scatter(
                multiples(prime, count, length),
                is_prime,
                rl.generate(lambda i: rl.from_idx(i) < 0, n=count),
            )
        return is_prime

    rivals = [theirs("numpy", lambda: sieve_in_numpy(length))]
    compare(f"sieve {length}", [ours(sieve)], rivals, rounds, bound=1.1)


def multiples(prime: int, count: int, length: int) -> Any:
    return rl.generate(
        lambda i: rl.clamp_idx(length, rl.from_idx(i) * prime + prime * prime), n=count
    )


def measure_top_k(length: int, count: int, rounds: int) -> None:
    def indices_of_greatest(x: Any) -> Any:
        return (x | rl.top_k(count)).snd

    indices_of_greatest.__annotations__["x"] = rl.Array[length, rl.f32]
    x = np.random.default_rng(0).standard_normal(length).astype(np.float32)
    rivals = [theirs("numpy", lambda x: np.argsort(-x, kind="stable")[:count], x)]
    if has("jax"):
        jax: Any = import_module("jax")
        compiled, argument = jax.jit(lambda x: jax.lax.top_k(x, count)[1]), jax.numpy.asarray(x)
        result = np.asarray(compiled(argument))
        rivals.append(Version("jax", lambda: compiled(argument).block_until_ready(), result))
    compare(f"top_k {count} of {length}", [ours(indices_of_greatest, x)], rivals, rounds)


def nearest_in_numpy(queries: Any, points: Any, count: int) -> Any:
    distances = ((queries[:, None] - points) ** 2).sum(-1)
    return np.argsort(distances, axis=1, kind="stable")[:, :count]


def measure_neighbors(query_count: int, length: int, count: int, rounds: int) -> None:
    def neighbors(queries: Any, points: Any) -> Any:
        def nearest(query: Any) -> Any:
            distances = points | rl.map(lambda point: squared_distance(query, point))
            return (distances | rl.argsort) | rl.take(count)

        return queries | rl.map(nearest)

    neighbors.__annotations__ |= {
        "queries": rl.Array[query_count, 3, rl.f32], "points": rl.Array[length, 3, rl.f32]
    }  # fmt: skip
    source = np.random.default_rng(0)
    queries, points = (source.random((each, 3), np.float32) for each in (query_count, length))
    rivals = [theirs("numpy", lambda: nearest_in_numpy(queries, points, count))]
    name = f"{count} nearest of {length} points, {query_count} queries"
    compare(name, [ours(neighbors, queries, points)], rivals, rounds)


def squared_distance(query: Any, point: Any) -> Any:
    squares = rl.zip(query, point) | rl.map(lambda a, b: (a - b) * (a - b))
    return squares | rl.reduce(rl.add, 0.0)


def measure() -> None:
    pin(1)
    rounds = 3 if is_small() else 25
    length = 1000 if is_small() else 1 << 20
    for dtype in TYPES:
        measure_argmax(length, dtype, rounds)
    measure_histogram(length, rounds)
    measure_sieve(length, rounds)
    measure_top_k(length, 5 if is_small() else 100, rounds)
    measure_neighbors(*((2, 100) if is_small() else (64, 1000)), 8, rounds)


if __name__ == "__main__":
    measure()
