"""C functions on a GPU beside our own patterns on it: gemm, 2mm, jacobi-2d and a convolution.

    python benchmarks/c_on_gpu.py

Arrays are on the GPU, and the results are compared with those of the CPU. `RISE_SCALING_SHARE`
makes all sizes small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from reporting import report

import riselang as rl
from riselang.native import cuda
from riselang.tools.figures import Rival

ROUNDS = 7
SECONDS = 0.2
"""About how long each of the rivals runs in a round."""
BOUND = 2.0
Call = Callable[[], Any]
IS_SMALL = bool(os.environ.get("RISE_SCALING_SHARE"))

GEMM = """
void gemm(int ni, int nj, int nk, double alpha, double beta,
          double C[ni][nj], double A[ni][nk], double B[nk][nj]) {
  for (int i = 0; i < ni; i++) {
    for (int j = 0; j < nj; j++) C[i][j] *= beta;
    for (int k = 0; k < nk; k++)
      for (int j = 0; j < nj; j++) C[i][j] += alpha * A[i][k] * B[k][j];
  }
}
"""
TWO_PRODUCTS = """
void two_products(int ni, int nj, int nk, int nl, double alpha, double beta, double tmp[ni][nj],
                  double A[ni][nk], double B[nk][nj], double C[nj][nl], double D[ni][nl]) {
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      tmp[i][j] = 0.0;
      for (int k = 0; k < nk; ++k) tmp[i][j] += alpha * A[i][k] * B[k][j];
    }
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nl; j++) {
      D[i][j] *= beta;
      for (int k = 0; k < nj; ++k) D[i][j] += tmp[i][k] * C[k][j];
    }
}
"""
JACOBI = """
void jacobi_2d(int steps, int n, double A[n][n], double B[n][n]) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
}
"""
CONVOLUTION = """
void convolution(int n, int m, const float x[n + 4][m + 4], const float w[5][5], float y[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float sum = 0;
      for (int p = 0; p < 5; p++)
        for (int q = 0; q < 5; q++) sum += x[i + p][j + q] * w[p][q];
      y[i][j] = sum;
    }
}
"""


def product(a: Any, b: Any, scale: Any) -> Any:
    """The product of a matrix with the scaled elements of another."""
    scaled = a | rl.map(rl.map(lambda e: scale * e)) | rl.to_mem("heap")
    columns = b | rl.transpose
    return scaled | rl.map(
        lambda row: (
            columns
            | rl.map(
                lambda column: (
                    rl.zip(row, column)
                    | rl.reduce(lambda total, pair: total + pair.fst * pair.snd, 0.0)
                )
            )
        )
    )


def add_scaled(products: Any, c: Any, scale: Any) -> Any:
    def of_rows(rows: Any) -> Any:
        return rl.zip(rows.fst, rows.snd) | rl.map(lambda e: e.fst + scale * e.snd)

    return rl.zip(products, c) | rl.map(of_rows)


@rl.jit(loops="gpu")
def gemm(
    alpha: rl.f64,
    beta: rl.f64,
    c: rl.Array["N", "M", rl.f64],
    a: rl.Array["N", "K", rl.f64],
    b: rl.Array["K", "M", rl.f64],
) -> Any:
    return add_scaled(product(a, b, alpha) | rl.to_mem("heap"), c, beta)


@rl.jit(loops="gpu")
def two_products(
    alpha: rl.f64,
    beta: rl.f64,
    a: rl.Array["N", "K", rl.f64],
    b: rl.Array["K", "M", rl.f64],
    c: rl.Array["M", "L", rl.f64],
    d: rl.Array["N", "L", rl.f64],
) -> Any:
    first = product(a, b, alpha) | rl.to_mem("heap")
    return add_scaled(product(first, c, 1.0) | rl.to_mem("heap"), d, beta)


@rl.jit(loops="gpu")
def jacobi_step(a: rl.Array["N", "M", rl.f64]) -> Any:
    def of_window(w: Any) -> Any:
        return (w[1, 1] + w[1, 0] + w[1, 2] + w[2, 1] + w[0, 1]) * 0.2

    return a | rl.slide2d(3, 1) | rl.map2d(of_window)


@rl.jit(loops="gpu")
def convolution(x: rl.Array["N", "M", rl.f32], w: rl.Array[5, 5, rl.f32]) -> Any:
    def of_window(window: Any) -> Any:
        pairs = rl.zip(window | rl.join, w | rl.join)
        return pairs | rl.reduce(lambda total, pair: total + pair.fst * pair.snd, 0.0)

    return x | rl.slide2d(5, 1) | rl.map2d(of_window)


def seconds(call: Call, count: int) -> float:
    """The time of a call, of several that are launched one after the other."""
    driver = cuda.driver()
    synchronize(driver)
    start = perf_counter()
    for _ in range(count):
        call()
    synchronize(driver)
    return (perf_counter() - start) / count


def synchronize(driver: Any) -> None:
    with driver.make_current():
        driver.synchronize()


def measure(name: str, ours: Call, patterns: Call) -> None:
    rivals = [ours, patterns]
    counts: list[int] = []
    for call in rivals:
        call()
        counts.append(max(1, min(100, round(SECONDS / max(seconds(call, 1), 1e-6)))))
    taken: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for position, call in enumerate(rivals):
            taken[position].append(seconds(call, counts[position]))
    report(name, taken[0], Rival("patterns", tuple(taken[1])), bound=BOUND)


def check(name: str, source: str, scalars: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """Compare the results of the GPU with those of the CPU; return the function."""
    function = rl.from_c(source, loops="gpu")
    expected = [array.copy() for array in arrays]
    rl.from_c(source)(*scalars, *expected)
    start = perf_counter()
    found = [array.copy() for array in arrays]
    function(*scalars, *found)
    first = perf_counter() - start
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9 if one.dtype == np.float64 else 1e-4)
    start = perf_counter()
    function(*scalars, *[array.copy() for array in arrays])
    again = perf_counter() - start
    print(f"{name}: right; the first call took {first:.2f} s, and one with copies {again:.4f} s")
    return function


def main() -> None:
    rng = np.random.default_rng(0)
    size, plane, steps = (16, 18, 2) if IS_SMALL else (2048, 4096, 10)

    def matrices(count: int, side: int = size) -> list[Any]:
        return [rng.random((side, side)) / side for _ in range(count)]

    c, a, b = matrices(3)
    sizes = (size, size, size)
    function = check("gemm", GEMM, (*sizes, 1.5, 0.5), (c, a, b))
    on_gpu = [rl.to_gpu(each) for each in (c, a, b)]
    measure(
        f"gemm of {size}, f64",
        lambda: function(*sizes, 1.5, 0.5, *on_gpu),
        lambda: gemm(1.5, 0.5, *on_gpu),
    )
    tmp, a, b, c, d = matrices(5)
    sizes = (size, size, size, size)
    function = check("2mm", TWO_PRODUCTS, (*sizes, 1.5, 0.5), (tmp, a, b, c, d))
    on_gpu = [rl.to_gpu(each) for each in (tmp, a, b, c, d)]
    measure(
        f"2mm of {size}, f64",
        lambda: function(*sizes, 1.5, 0.5, *on_gpu),
        lambda: two_products(1.5, 0.5, *on_gpu[1:]),
    )
    a, b = rng.random((plane, plane)), np.zeros((plane, plane))
    b[:], b[1:-1, 1:-1] = a, 0
    function = check("jacobi-2d", JACOBI, (steps, plane), (a, b))
    on_gpu = [rl.to_gpu(each) for each in (a, b)]

    def repeat_steps() -> None:
        for _ in range(2 * steps):
            jacobi_step(on_gpu[0])

    measure(
        f"jacobi-2d of {plane}, {2 * steps} steps, f64",
        lambda: function(steps, plane, *on_gpu),
        repeat_steps,
    )
    x = rng.random((plane + 4, plane + 4)).astype(np.float32)
    w, y = rng.random((5, 5)).astype(np.float32), np.zeros((plane, plane), np.float32)
    function = check("convolution", CONVOLUTION, (plane, plane), (x, w, y))
    on_gpu = [rl.to_gpu(each) for each in (x, w, y)]
    measure(
        f"5x5 convolution of {plane}, f32",
        lambda: function(plane, plane, *on_gpu),
        lambda: convolution(*on_gpu[:2]),
    )


if __name__ == "__main__":
    if cuda.is_available():
        main()
    else:
        print("there is no GPU here: nothing is measured")
