"""What BLAS libraries do, beside them: programs that say nothing of how they run.

Nothing here calls a library but the rivals: programs are patterns, and become loops.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from rivals import Array, Calls, compare, libraries, on_threads

import riselang as rl

MATMUL = """fun((A : {0}.{1}.{3}, B : {1}.{2}.{3}), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
GEMV = """fun((A : {0}.{0}.f32, x : {0}.f32), A |> map(fun(row,
  zip(row, x) |> map(mult) |> reduce(add, 0.0))))"""
DOT = "fun((x : {0}.f32, y : {0}.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))"
AXPY = "fun((a : f32, x : {0}.f32, y : {0}.f32), zip(x, y) |> map(fun(p, a * fst(p) + snd(p))))"
TRANSPOSE = "fun((A : {0}.{0}.f32), A |> transpose)"

CUBES = (512, 1024, 2048)
SHAPES = ((1000, 1000, 1000), (37, 129, 515), (1, 784, 128), (4096, 16, 4096))
KINDS = {"f32": np.float32, "f64": np.float64}
THREADS = (1, 2)
LIBRARY, ODD, MEMORY = 1 / 0.95, 1 / 0.9, 1 / 0.95
"""Times that we may take as long as the best of the rivals."""


def program(text: str, float: str | None = None) -> Any:
    loaded: Any = rl.loads(text, name="program.rise", float=float)
    return loaded.main


def products(shape: tuple[int, int, int], rounds: int, bound: float, on: str) -> None:
    rows, depth, columns = shape
    source = np.random.default_rng(0)
    for kind, dtype in KINDS.items():
        a, b = (source.random(each).astype(dtype) for each in ((rows, depth), (depth, columns)))
        ours = program(MATMUL.format(*shape, kind))
        assert np.allclose(ours(a, b), a @ b, rtol=1e-3)
        rivals = {each.name: lambda each=each: each.matmul(a, b) for each in libraries()}
        calls = max(1, int(2e7 / (rows * depth * columns)))
        name = f"matmul {rows}x{depth}x{columns} {kind}, {on}"
        compare(name, lambda: ours(a, b), rivals, calls=calls, rounds=rounds, bound=bound)


def memory_bound(size: int, rounds: int, on: str) -> None:
    """Kernels that wait for memory, beside numpy and beside a copy that moves as many bytes."""
    source = np.random.default_rng(0)
    matrix = source.random((size, size), np.float32)
    x, y = (source.random(size * size, np.float32) for _ in range(2))
    few = matrix[0].copy()
    # The last is how many matrices a copy reads that takes as long at least: it reads as much, or
    # reads and writes as much together.
    kernels: list[tuple[str, Any, list[Any], Any, float]] = [
        ("gemv", program(GEMV.format(size), "relaxed"), [matrix, few], lambda: matrix @ few, 1),
        ("dot", program(DOT.format(size * size), "relaxed"), [x, y], lambda: x @ y, 2),
        ("axpy", program(AXPY.format(size * size)), [np.float32(2), x, y], None, 2),
        ("transpose", program(TRANSPOSE.format(size)), [matrix], lambda: matrix.T.copy(), 1),
    ]
    for name, ours, arguments, numpys, arrays in kernels:
        rivals: Calls = {"a copy of as many bytes": copying(arrays, size)}
        if numpys is not None:
            rivals = {**rivals, "numpy": numpys}
        out: Array = np.empty_like(np.asarray(ours(*arguments)))
        call = (lambda: ours(*arguments, out=out)) if out.ndim else (lambda: ours(*arguments))
        what = f"{name} {size} squared, {on}"
        compare(what, call, rivals, calls=1, rounds=rounds, bound=MEMORY)


def copying(arrays: float, size: int) -> Any:
    """A copy that reads as many bytes as so many matrices have."""
    half = np.zeros(int(arrays * size * size), np.float32)
    target = np.empty_like(half)
    return lambda: np.copyto(target, half)


def main(cubes: tuple[int, ...], shapes: Any, size: int, rounds: int) -> None:
    for threads in THREADS:
        on = f"{threads} thread" + "s" * (threads > 1)
        with on_threads(threads):
            for each in cubes:
                products((each, each, each), rounds, LIBRARY, on)
            for shape in shapes:
                products(shape, rounds, ODD, on)
            memory_bound(size, rounds, on)


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        main((32,), ((7, 12, 9),), 32, 3)
    else:
        main(CUBES, SHAPES, 4096, 15)
