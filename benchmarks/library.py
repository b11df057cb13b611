"""Matrix products through `library="blas"`, beside the same call from numpy."""

from __future__ import annotations

import os
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402


@rl.jit(library="blas")
def matmul(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def measure(size: int, rounds: int) -> None:
    source = np.random.default_rng(0)
    A, B = (source.random((size, size), np.float32) for _ in range(2))
    assert np.allclose(matmul(A, B), A @ B, rtol=1e-3)
    ours, theirs = samples([lambda: matmul(A, B), lambda: np.matmul(A, B)], rounds=rounds)
    name = f"matmul {size}x{size}x{size}, library call"
    report(name, ours, Rival("numpy's OpenBLAS", theirs), bound=1.02)


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        measure(32, 3)
    else:
        measure(1024, 25)
        measure(256, 101)
