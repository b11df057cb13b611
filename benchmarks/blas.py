"""What BLAS libraries do, beside them: programs that say nothing of how they run.

Nothing here calls a library but the rivals: programs are patterns, and become loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from blas_rivals import Array, Calls, compare, libraries
from rivals import for_each_count_of_threads, is_small, pin

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
LIBRARY, ODD, THREADED, MEMORY = 1.03, 1.05, 1.05, 1 / 0.95
"""Times that we may take as long as the best of the rivals; `THREADED` on several threads."""


def program(text: str, float: str | None = None) -> Any:
    loaded: Any = rl.loads(text, name="program.rise", float=float)
    return loaded.main


def products(shape: tuple[int, int, int], rounds: int, bound: float, on: str) -> None:
    for kind in KINDS:
        product(shape, kind, rounds, bound, on)


def product(shape: tuple[int, int, int], kind: str, rounds: int, bound: float, on: str) -> None:
    rows, depth, columns = shape
    source = np.random.default_rng(0)
    a, b = (source.random(each).astype(KINDS[kind]) for each in ((rows, depth), (depth, columns)))
    ours = program(MATMUL.format(*shape, kind))
    assert np.allclose(ours(a, b), a @ b, rtol=1e-3)
    rivals = {each.name: lambda each=each: each.matmul(a, b) for each in libraries()}
    calls = max(1, int(2e7 / (rows * depth * columns)))
    name = f"matmul {rows}x{depth}x{columns} {kind}, {on}"
    compare(name, lambda: ours(a, b), rivals, calls=calls, rounds=rounds, bound=bound)


def memory_bound(size: int, rounds: int, on: str) -> None:
    """Kernels that wait for memory, beside numpy and beside a copy.

    The last number is how many matrices the copy reads: as many bytes as the kernel reads, or reads
    and writes together in two.
    """
    source = np.random.default_rng(0)
    matrix = source.random((size, size), np.float32)
    x, y = (source.random(size * size, np.float32) for _ in range(2))
    few, two = matrix[0].copy(), np.float32(2)
    gemv, dot = (program(each, "relaxed") for each in (GEMV.format(size), DOT.format(x.size)))
    axpy, transpose = program(AXPY.format(x.size)), program(TRANSPOSE.format(size))
    at = f"{size} squared, {on}"
    waiting(f"gemv {at}", gemv, [matrix, few], lambda: matrix @ few, 1, rounds)
    waiting(f"dot {at}", dot, [x, y], lambda: x @ y, 2, rounds)
    waiting(f"axpy {at}", axpy, [two, x, y], None, 1.5, rounds)
    waiting(f"transpose {at}", transpose, [matrix], lambda: matrix.T.copy(), 1, rounds)


def waiting(
    name: str, ours: Any, arguments: list[Any], numpys: Any, matrices: float, rounds: int
) -> None:
    largest = max(np.size(each) for each in arguments)
    rivals: Calls = {"a copy of as many bytes": copying(int(matrices * largest))}
    if numpys is not None:
        rivals = {**rivals, "numpy": numpys}
    # Ours starts with a line of the cache, as the results of every call do.
    out: Array = np.asarray(ours(*arguments))
    call = (lambda: ours(*arguments, out=out)) if out.ndim else (lambda: ours(*arguments))
    compare(name, call, rivals, calls=1, rounds=rounds, bound=MEMORY)


def copying(length: int) -> Any:
    """A copy of so many numbers, each in memory of its own: pages of zeros would share one."""
    source = np.ones(length, np.float32)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source)


def measure(threads: int) -> None:
    pin(threads)
    on = f"{threads} thread" + "s" * (threads > 1)
    cubes, shapes, size, rounds = (
        ((32,), ((7, 12, 9),), 32, 3) if is_small() else (CUBES, SHAPES, 4096, 15)
    )
    for each in cubes:
        products((each, each, each), rounds, LIBRARY if threads == 1 else THREADED, on)
    if threads > 2:
        return
    for shape in shapes:
        products(shape, rounds, ODD, on)
    memory_bound(size, rounds, on)


if __name__ == "__main__":
    for_each_count_of_threads(measure)
