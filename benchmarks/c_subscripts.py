"""What the checks of subscripts cost in functions of C: `rl.from_c` beside `checks=False`.

    python benchmarks/c_subscripts.py

A gather, a scatter and a product with a sparse matrix check an index from data in each iteration.
The stencils have a condition that data decide: all accesses of the first are proven to be inside at
the call, so nothing is checked; in the second only the data keep accesses inside, so all are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

COUNT, WIDTH, PER_ROW = 1 << 16, 512, 8
GATHER = """
void f(int n, double y[n], double x[n], int k[n]) {
  for (int i = 0; i < n; i++)
    y[i] = x[k[i]];
}
"""
SCATTER = """
void f(int n, int m, int h[m], int k[n]) {
  for (int i = 0; i < n; i++)
    h[k[i]] += 1;
}
"""
SPARSE = """
void f(int n, int z, double y[n], int p[n + 1], int c[z], double v[z], double x[n]) {
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int j = p[i]; j < p[i + 1]; j++)
      s += v[j] * x[c[j]];
    y[i] = s;
  }
}
"""
PROVEN = """
void f(int n, double b[n][n], double a[n][n], int m[n][n]) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      if (m[i][j] > 0)
        b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
}
"""
BY_DATA = """
void f(int n, double b[n], double a[n], int m[n]) {
  for (int i = 0; i < n; i++)
    if (m[i] > 0)
      b[i] = 0.2 * (a[i] + a[i - 1] + a[i + 1]);
}
"""


def kernels() -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Programs, and what they are called with."""
    random = np.random.default_rng(0)

    def indices(count: int, end: int) -> Any:
        return random.integers(0, end, count).astype(np.int32)

    square, mask = random.random((WIDTH, WIDTH)), indices(WIDTH**2, 2)
    mask[[0, -1]] = 0
    entries = COUNT * PER_ROW
    rows = np.arange(0, entries + 1, PER_ROW).astype(np.int32)
    return {
        "gather": (
            GATHER, (COUNT, np.zeros(COUNT), random.random(COUNT), indices(COUNT, COUNT))),
        "scatter": (SCATTER, (COUNT, 256, np.zeros(256, np.int32), indices(COUNT, 256))),
        "sparse matrix by vector": (
            SPARSE, (COUNT, entries, np.zeros(COUNT), rows, indices(entries, COUNT),
                     random.random(entries), random.random(COUNT))),
        "guarded stencil, proven": (
            PROVEN, (WIDTH, np.zeros_like(square), square, mask.reshape(square.shape))),
        "guarded stencil, by data": (
            BY_DATA, (WIDTH**2, np.zeros(WIDTH**2), square.ravel(), mask)),
    }  # fmt: skip


def main() -> None:
    for name, (text, arguments) in kernels().items():
        checked, unchecked = rl.from_c(text), rl.from_c(text, checks=False)
        rivals = [partial(each, *arguments) for each in (checked, unchecked)]
        ours, theirs = samples(rivals)
        report(f"{name}, checked", ours, Rival("unchecked", theirs))


if __name__ == "__main__":
    main()
