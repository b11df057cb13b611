"""Sorting and selection beside NumPy, and JAX where it is installed; on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from rivals import Version, compare, has, is_small, pin

import riselang as rl

TYPES: dict[Any, Any] = {
    np.float32: rl.f32, np.float64: rl.f64, np.int32: rl.i32, np.int64: rl.i64
}  # fmt: skip


def numbers(length: int, dtype: Any) -> Any:
    source = np.random.default_rng(0)
    if np.issubdtype(dtype, np.floating):
        return source.standard_normal(length).astype(dtype)
    return source.integers(-(2**31), 2**31, length).astype(dtype)


def ascending(x: Any) -> Any:
    return x | rl.sort(lambda a, b: a < b)


def order(length: int) -> Callable[[Any], Any]:
    def sort_indices(x: Any) -> Any:
        indices = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32), n=length)
        return rl.zip(x, indices) | rl.sort(lambda a, b: rl.fst(a) < rl.fst(b)) | rl.map(rl.snd)

    return sort_indices


def greatest(count: int) -> Callable[[Any], Any]:
    def select(x: Any) -> Any:
        return x | rl.sort(lambda a, b: a > b) | rl.take(count)

    return select


def ours(function: Callable[[Any], Any], x: Any) -> Version:
    function.__annotations__ = {"x": rl.Array[len(x), TYPES[x.dtype.type]]}
    kernel = rl.jit(function)
    return Version("riselang", lambda: kernel(x), kernel(x))


def in_numpy(function: Callable[[Any], Any], x: Any) -> Version:
    return Version("numpy", lambda: function(x), function(x))


def in_jax(name: str, function: Callable[[Any, Any], Any], x: Any) -> Iterator[Version]:
    if has("jax") and x.itemsize == 4:
        jax: Any = import_module("jax")
        compiled, given = jax.jit(lambda x: function(jax, x)), jax.numpy.asarray(x)
        result = np.asarray(compiled(given))
        yield Version(name, lambda: compiled(given).block_until_ready(), result)


def measure_sort(length: int, dtype: Any, rounds: int) -> None:
    x = numbers(length, dtype)
    rivals = [in_numpy(np.sort, x), *in_jax("jax", lambda jax, x: jax.numpy.sort(x), x)]
    name = f"sort {length} {np.dtype(dtype).name}"
    compare(name, [ours(ascending, x)], rivals, rounds, bound=1.5)


def measure_order(length: int, dtype: Any, rounds: int) -> None:
    x = numbers(length, dtype)
    rivals = [
        in_numpy(lambda x: np.argsort(x, kind="stable"), x),
        *in_jax("jax", lambda jax, x: jax.numpy.argsort(x), x),
    ]
    name = f"argsort {length} {np.dtype(dtype).name}"
    compare(name, [ours(order(length), x)], rivals, rounds)


def measure_selection(length: int, count: int, rounds: int) -> None:
    x = numbers(length, np.float32)
    rivals = [
        in_numpy(lambda x: np.sort(np.partition(x, length - count)[length - count :])[::-1], x),
        *in_jax("jax", lambda jax, x: jax.lax.top_k(x, count)[0], x),
    ]
    version = ours(greatest(count), x)
    compare(f"top {count} of {length} float32", [version], rivals, rounds)


def measure() -> None:
    pin(1)
    rounds = 3 if is_small() else 25
    for length in (100,) if is_small() else (4096, 1 << 20):
        count = min(rounds, 9) if length > 10_000 else rounds
        for dtype in TYPES:
            measure_sort(length, dtype, count)
            measure_order(length, dtype, count)
    measure_selection(*((100, 5) if is_small() else (32000, 50)), rounds)


if __name__ == "__main__":
    measure()
