"""Jacobi's method on lines, grids and in volumes, beside numba and Halide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from rivals import (
    Version,
    compare,
    for_each_count_of_threads,
    has,
    in_numba,
    is_small,
    ours,
    pin,
    theirs,
    with_threads,
)

STRATEGY = "stencils.vectors"
BOUND = 1.02


def in_python(threads: int) -> dict[int, Callable[..., object]]:
    """The loops as people write them for numba, by dimension."""
    prange: Any = import_module("numba").prange

    third, fifth = np.float32(0.33333334), np.float32(0.2)
    centre, beside = np.float32(0.4), np.float32(0.1)

    def line(x: Any, out: Any) -> None:
        for i in prange(out.shape[0]):
            out[i] = third * (x[i] + x[i + 1] + x[i + 2])

    def grid(x: Any, out: Any) -> None:
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                row = x[i + 1, j + 1] + x[i + 1, j] + x[i + 1, j + 2]
                out[i, j] = fifth * (row + x[i + 2, j + 1] + x[i, j + 1])

    def volume(x: Any, out: Any) -> None:
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                for k in range(out.shape[2]):
                    total = x[i, j + 1, k + 1] + x[i + 2, j + 1, k + 1]
                    total += x[i + 1, j, k + 1] + x[i + 1, j + 2, k + 1]
                    total += x[i + 1, j + 1, k] + x[i + 1, j + 1, k + 2]
                    out[i, j, k] = centre * x[i + 1, j + 1, k + 1] + beside * total

    loops = {1: line, 2: grid, 3: volume}
    return {dimension: in_numba(each, threads) for dimension, each in loops.items()}


def rivals(x: Any, shape: tuple[int, ...], threads: int) -> Iterator[Version]:
    if has("numba"):
        yield theirs("numba", in_python(threads)[len(shape)], [x], shape)
    if has("halide"):
        from in_halide import jacobi

        yield from jacobi(x, shape)


def measure(threads: int) -> None:
    pin(threads)
    shapes = [(1 << 22,), (2048, 2048), (4096, 4096), (256, 256, 256)]
    for shape in [(64,), (30, 33), (9, 10, 21)] if is_small() else shapes:
        x = np.random.default_rng(0).random([length + 2 for length in shape], np.float32)
        version = ours(f"jacobi_{len(shape)}d", STRATEGY, [x], shape)
        name = with_threads(f"jacobi {'x'.join(map(str, shape))}", threads)
        others = list(rivals(x, shape, threads))
        compare(name, [version], others, 3 if is_small() else 25, bound=BOUND)


if __name__ == "__main__":
    for_each_count_of_threads(measure)
