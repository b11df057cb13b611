"""Programs with state, beside NumPy, and numba where it is installed; on one thread.

A batch of Cholesky factorizations, Gauss-Jordan elimination, the Mandelbrot set, xorshift, PageRank
with a list of neighbors and with a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rivals import Version, compare, has, in_numba, is_small, pin

import riselang as rl

STEPS = 100
"""The maximum number of iterations for a point of the Mandelbrot set, and those of xorshift."""
DAMPING = 0.85


def ours(function: Callable[..., Any], *arguments: Any) -> Version:
    kernel = rl.jit(function)
    return Version("riselang", lambda: kernel(*arguments), kernel(*arguments))


def theirs(name: str, function: Callable[..., Any], *arguments: Any) -> Version:
    return Version(name, lambda: function(*arguments), function(*arguments))


def number(index: Any) -> Any:
    return rl.cast(rl.from_idx(index), rl.i64)


def cholesky(size: int) -> Callable[[Any], Any]:
    """The factor of a matrix, one column after the other."""

    def subtract_column(matrix: Any, k: Any) -> Any:
        pivot = rl.math.sqrt(matrix[k][k])

        def scaled(i: Any) -> Any:
            below = rl.where(number(i) > number(k), matrix[i][k] / pivot, 0.0)
            return rl.where(number(i) == number(k), pivot, below)

        column = rl.generate(scaled, n=size)

        def element(i: Any, j: Any) -> Any:
            is_after = (number(j) > number(k)) & (number(i) > number(k))
            updated = rl.where(is_after, matrix[i][j] - column[i] * column[j], matrix[i][j])
            return rl.where(number(j) == number(k), column[i], updated)

        return rl.generate(lambda i: rl.generate(lambda j: element(i, j), n=size), n=size)

    def factor(matrix: Any) -> Any:
        full = rl.reduce(subtract_column, matrix, rl.generate(lambda k: k, n=size))
        return rl.generate(
            lambda i: rl.generate(
                lambda j: rl.where(number(j) <= number(i), full[i][j], 0.0), n=size
            ),
            n=size,
        )

    return factor


def cholesky_in_loops(matrices: Any) -> Any:
    out = np.zeros_like(matrices)
    size = matrices.shape[1]
    for b in range(matrices.shape[0]):
        factor, matrix = out[b], matrices[b]
        for j in range(size):
            total = matrix[j, j]
            for k in range(j):
                total -= factor[j, k] * factor[j, k]
            pivot = np.sqrt(total)
            factor[j, j] = pivot
            for i in range(j + 1, size):
                total = matrix[i, j]
                for k in range(j):
                    total -= factor[i, k] * factor[j, k]
                factor[i, j] = total / pivot
    return out


def measure_cholesky(count: int, size: int, rounds: int) -> None:
    def factors(matrices: Any) -> Any:
        return matrices | rl.map(cholesky(size))

    factors.__annotations__["matrices"] = rl.Array[count, size, size, rl.f32]
    x = np.random.default_rng(0).random((count, size, size), np.float32)
    matrices = x @ x.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32)
    rivals = [theirs("numpy", np.linalg.cholesky, matrices)]
    if has("numba"):
        rivals.append(theirs("numba", in_numba(cholesky_in_loops, 1), matrices))
    name = f"cholesky {count}x{size}x{size}"
    compare(name, [ours(factors, matrices)], rivals, rounds)


def eliminate_in_numpy(matrix: Any) -> Any:
    matrix = matrix.copy()
    for k in range(len(matrix)):
        pivot = matrix[k] / matrix[k, k]
        matrix -= np.outer(matrix[:, k].copy(), pivot)
        matrix[k] = pivot
    return matrix


def measure_elimination(size: int, rounds: int) -> None:
    def eliminate(matrix: Any) -> Any:
        def step(matrix: Any, k: Any) -> Any:
            column = rl.clamp_idx(2 * size, number(k))
            row = matrix[k]
            pivot = row | rl.map(lambda x: x / row[column])

            def update(i: Any, row: Any) -> Any:
                pairs = rl.zip(row, pivot)
                return pairs | rl.map(
                    lambda x, y: rl.where(number(i) == number(k), y, x - row[column] * y)
                )

            return rl.zip(rl.generate(lambda i: i, n=size), matrix) | rl.map(update)

        return rl.reduce(step, matrix, rl.generate(lambda k: k, n=size))

    eliminate.__annotations__["matrix"] = rl.Array[size, 2 * size, rl.f32]
    x = np.random.default_rng(0).random((size, size), np.float32)
    identity = np.eye(size, dtype=np.float32)
    matrix = np.hstack([x + size * identity, identity])
    rivals = [theirs("numpy", eliminate_in_numpy, matrix)]
    compare(f"gauss-jordan {size}", [ours(eliminate, matrix)], rivals, rounds)


def escape_in_loops(re: Any, im: Any) -> Any:
    out = np.empty(re.shape, np.int32)
    for i in range(re.shape[0]):
        for j in range(re.shape[1]):
            x = y = np.float32(0)
            a, b, steps = re[i, j], im[i, j], 0
            while x * x + y * y <= np.float32(4) and steps < STEPS:
                x, y = x * x - y * y + a, np.float32(2) * x * y + b
                steps += 1
            out[i, j] = steps
    return out


def measure_mandelbrot(height: int, width: int, rounds: int) -> None:
    def escape(a: Any, b: Any) -> Any:
        def is_near(state: Any) -> Any:
            x, y = state.fst.fst, state.fst.snd
            return (x * x + y * y <= 4.0) & (state.snd < STEPS)

        def step(state: Any) -> Any:
            x, y = state.fst.fst, state.fst.snd
            return (x * x - y * y + a, 2.0 * x * y + b), state.snd + 1

        zero = rl.literal(0.0, rl.f32)
        return rl.while_(is_near, step, ((zero, zero), rl.literal(0, rl.i32))).snd

    def mandelbrot(re: Any, im: Any) -> Any:
        rows = rl.zip(re, im)
        return rows | rl.map(lambda x, y: rl.zip(x, y) | rl.map(escape))

    plane = rl.Array[height, width, rl.f32]
    mandelbrot.__annotations__ |= {"re": plane, "im": plane}
    axes = np.linspace(-1, 1, height), np.linspace(-2, 0.6, width)
    im, re = (each.astype(np.float32) for each in np.meshgrid(*axes, indexing="ij"))
    rivals: list[Version] = []
    if has("numba"):
        rivals.append(theirs("numba", in_numba(escape_in_loops, 1), re, im))
    name = f"mandelbrot {height}x{width}"
    # Points at the border of the set take more or fewer steps when sums are rounded differently.
    version = ours(mandelbrot, re, im)
    compare(name, [version], rivals, rounds, tolerance=STEPS)


def shift_in_loops(states: Any) -> Any:
    out = np.empty_like(states)
    for i in range(len(states)):
        state = states[i]
        for _ in range(STEPS):
            state ^= np.uint32(state << np.uint32(13))
            state ^= np.uint32(state >> np.uint32(17))
            state ^= np.uint32(state << np.uint32(5))
        out[i] = state
    return out


def measure_xorshift(count: int, rounds: int) -> None:
    def step(state: Any) -> Any:
        state = state ^ (state << 13)
        state = state ^ (state >> 17)
        return state ^ (state << 5)

    def xorshift(states: Any) -> Any:
        return states | rl.map(lambda state: state | rl.iterate(STEPS, step))

    xorshift.__annotations__["states"] = rl.Array[count, rl.u32]
    states = np.random.default_rng(0).integers(1, 2**32, count).astype(np.uint32)
    rivals: list[Version] = []
    if has("numba"):
        rivals.append(theirs("numba", in_numba(shift_in_loops, 1), states))
    compare(f"xorshift {count}", [ours(xorshift, states)], rivals, rounds)


def damped(sum: Any, count: int) -> Any:
    return sum * DAMPING + (1 - DAMPING) / count


def measure_pagerank(count: int, degree: int, rounds: int) -> None:
    def pagerank(sources: Any, weights: Any, ranks: Any) -> Any:
        def step(ranks: Any) -> Any:
            def received(indices: Any, row: Any) -> Any:
                pairs = rl.zip(indices, row)
                shares = pairs | rl.map(lambda i, w: w * ranks[rl.clamp_idx(count, i)])
                return damped(shares | rl.reduce(rl.add, 0.0), count)

            return rl.zip(sources, weights) | rl.map(received)

        return rl.iterate(50, step, ranks)

    pagerank.__annotations__ |= {
        "sources": rl.Array[count, degree, rl.i32],
        "weights": rl.Array[count, degree, rl.f32],
        "ranks": rl.Array[count, rl.f32],
    }
    source = np.random.default_rng(0)
    sources = source.integers(0, count, (count, degree)).astype(np.int32)
    weights = np.full((count, degree), 1 / degree, np.float32)
    arguments = sources, weights, np.full(count, 1 / count, np.float32)

    def in_numpy(sources: Any, weights: Any, ranks: Any) -> Any:
        for _ in range(50):
            shares = (weights * ranks[sources]).sum(1)
            ranks = shares * np.float32(DAMPING) + np.float32((1 - DAMPING) / count)
        return ranks

    rivals = [theirs("numpy", in_numpy, *arguments)]
    name = f"pagerank {count} nodes, {degree} neighbors"
    compare(name, [ours(pagerank, *arguments)], rivals, rounds)


def measure_dense_pagerank(count: int, rounds: int) -> None:
    def pagerank(matrix: Any, ranks: Any) -> Any:
        def step(ranks: Any) -> Any:
            def received(row: Any) -> Any:
                products = rl.zip(row, ranks) | rl.map(rl.mult)
                return damped(products | rl.reduce(rl.add, 0.0), count)

            return matrix | rl.map(received)

        return rl.iterate(50, step, ranks)

    pagerank.__annotations__ |= {
        "matrix": rl.Array[count, count, rl.f32], "ranks": rl.Array[count, rl.f32]
    }  # fmt: skip
    matrix = np.random.default_rng(0).random((count, count), np.float32)
    arguments = matrix / matrix.sum(0), np.full(count, 1 / count, np.float32)

    def in_numpy(matrix: Any, ranks: Any) -> Any:
        for _ in range(50):
            ranks = (matrix @ ranks) * np.float32(DAMPING) + np.float32((1 - DAMPING) / count)
        return ranks

    rivals = [theirs("numpy", in_numpy, *arguments)]
    name = f"pagerank {count}, matrix"
    compare(name, [ours(pagerank, *arguments)], rivals, rounds)


def measure() -> None:
    pin(1)
    rounds = 3 if is_small() else 25
    measure_cholesky(*((3, 4) if is_small() else (2000, 16)), rounds)
    measure_elimination(8 if is_small() else 128, rounds)
    measure_mandelbrot(*((5, 6) if is_small() else (200, 300)), rounds)
    measure_xorshift(50 if is_small() else 100_000, rounds)
    measure_pagerank(*((10, 3) if is_small() else (1000, 8)), rounds)
    measure_dense_pagerank(10 if is_small() else 1000, rounds)


if __name__ == "__main__":
    measure()
