"""Programs that are compiled once for all sizes, against the same programs specialized for a size.

The rival is riselang itself: the kernel that is compiled for the sizes of the call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

BOUND = 1.15
SIZES = (64, 512, 1000, 1024)
VOLUME = {64: 32, 512: 100, 1000: 127, 1024: 128}
"""The length of each side of a volume, so that all programs have similar numbers of elements."""
Vector, Matrix = rl.Array["N", rl.f32], rl.Array["N", "M", rl.f32]


def dot(row: Any, column: Any) -> Any:
    return rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def matmul(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]) -> Any:
    return a | rl.map(lambda row: b | rl.transpose | rl.map(lambda column: dot(row, column)))


def matmul_f64(a: rl.Array["N", "K", rl.f64], b: rl.Array["K", "M", rl.f64]) -> Any:
    return a | rl.map(lambda row: b | rl.transpose | rl.map(lambda column: dot(row, column)))


def gemv(a: Matrix, x: rl.Array["M", rl.f32]) -> Any:
    return a | rl.map(lambda row: dot(row, x))


def gemv_transposed(a: Matrix, x: rl.Array["N", rl.f32]) -> Any:
    return a | rl.transpose | rl.map(lambda column: dot(column, x))


def total(x: Vector) -> Any:
    return x | rl.reduce(rl.add, 0.0)


def column_sums(a: Matrix) -> Any:
    return a | rl.transpose | rl.map(lambda column: column | rl.reduce(rl.add, 0.0))


def softmax(a: Matrix) -> Any:
    def normalize(row: Any) -> Any:
        largest = row | rl.reduce(rl.max, -3.0e38)
        powers = row | rl.map(lambda e: rl.math.exp(e - largest)) | rl.to_mem("heap")
        divisor = powers | rl.reduce(rl.add, 0.0)
        return powers | rl.map(lambda e: e / divisor)

    return a | rl.map(normalize)


def line(x: Vector) -> Any:
    return x | rl.slide(3, 1) | rl.map(lambda w: (w | rl.reduce(rl.add, 0.0)) * 0.33333334)


def grid(a: Matrix) -> Any:
    return a | rl.slide2d(3, 1) | rl.map2d(lambda w: w | rl.join | rl.reduce(rl.add, 0.0))


def volume(a: rl.Array["N", "M", "K", rl.f32]) -> Any:
    return (
        a
        | rl.slide(3, 1)
        | rl.map(
            lambda planes: (
                planes
                | rl.map(rl.slide2d(3, 1))
                | rl.transpose
                | rl.map(
                    lambda rows: (
                        rows
                        | rl.transpose
                        | rl.map(lambda w: w | rl.join | rl.join | rl.reduce(rl.add, 0.0))
                    )
                )
            )
        )
    )


def convolution(a: Matrix, weights: rl.Array[5, 5, rl.f32]) -> Any:
    return a | rl.slide2d(5, 1) | rl.map2d(lambda w: dot(w | rl.join, weights | rl.join))


def mlp(
    x: rl.Array["N", 128, rl.f32],
    first: rl.Array[128, 256, rl.f32],
    bias: rl.Array[256, rl.f32],
    second: rl.Array[256, 16, rl.f32],
) -> Any:
    hidden = x | rl.map(
        lambda row: (
            rl.zip(first | rl.transpose, bias)
            | rl.map(lambda column, b: rl.max(dot(row, column) + b, 0.0))
        )
    )
    stored = hidden | rl.to_mem("heap")
    return stored | rl.map(
        lambda row: second | rl.transpose | rl.map(lambda column: dot(row, column))
    )


Program = tuple[Callable[..., Any], str, Callable[[int], list[tuple[int, ...]]]]
PROGRAMS: tuple[Program, ...] = (
    (matmul, "contract", lambda n: [(n, n), (n, n)]),
    (matmul_f64, "contract", lambda n: [(n, n), (n, n)]),
    (gemv, "contract", lambda n: [(n, n), (n,)]),
    (gemv, "relaxed", lambda n: [(n, n), (n,)]),
    (gemv_transposed, "contract", lambda n: [(n, n), (n,)]),
    (total, "relaxed", lambda n: [(n * n,)]),
    (column_sums, "contract", lambda n: [(n, n)]),
    (softmax, "relaxed", lambda n: [(n, n)]),
    (line, "contract", lambda n: [(n * n + 2,)]),
    (grid, "contract", lambda n: [(n + 2, n + 2)]),
    (volume, "contract", lambda n: [(VOLUME[n] + 2, VOLUME[n] + 2, VOLUME[n] + 2)]),
    (convolution, "contract", lambda n: [(n + 4, n + 4), (5, 5)]),
    (mlp, "contract", lambda n: [(n, 128), (128, 256), (256,), (256, 16)]),
)


def measure(program: Program, sizes: tuple[int, ...], rounds: int) -> None:
    function, permission, shapes = program
    dynamic = rl.jit(function, sizes="symbolic", float=permission)
    specialized = rl.jit(function, float=permission)
    random = np.random.default_rng(0)
    for size in sizes:
        dtype = np.float64 if function is matmul_f64 else np.float32
        arrays = [random.random(shape, dtype) for shape in shapes(size)]
        calls = max(1, 200_000 // sum(array.size for array in arrays))
        kernels = [partial(kernel, *arrays) for kernel in (dynamic, specialized)]
        ours, theirs = samples(kernels, rounds, calls)
        name = f"{function.__name__} {size}, {permission}"
        report(name, ours, Rival("specialized", theirs), bound=BOUND)


def call_cost(rounds: int, calls: int) -> None:
    """The cost of a call on a small array, which does nearly nothing."""
    x = np.ones((2, 2), np.float32)
    kernels = [
        partial(kernel, x, x) for kernel in (rl.jit(matmul, sizes="symbolic"), rl.jit(matmul))
    ]
    ours, theirs = samples(kernels, rounds, calls)
    report("a call with 6 dynamic dimensions", ours, Rival("specialized", theirs))


if __name__ == "__main__":
    names = set(sys.argv[1:])
    is_small = bool(os.environ.get("RISE_SCALING_SHARE"))
    for each in PROGRAMS:
        if not names or each[0].__name__ in names:
            measure(each, SIZES[:1] if is_small else SIZES, 3 if is_small else 15)
    if not names:
        call_cost(3 if is_small else 15, 10 if is_small else 2000)
