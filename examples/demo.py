"""Two programs printed at every stage, then compiled, run and compared with NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import riselang as rl


@rl.jit
def matmul(
    A: Annotated[rl.Array, "N", "K", rl.f32], B: Annotated[rl.Array, "K", "M", rl.f32]
) -> rl.Array:
    return A | rl.map(
        lambda row: B | rl.transpose | rl.map(
            lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)
        )
    )  # fmt: skip


@rl.jit
def jacobi(grid: Annotated[rl.Array, "N", "M", rl.f32]) -> rl.Array:
    """The mean of each 3x3 neighborhood, with repeated edges."""
    return grid | rl.pad2d(1, 1) | rl.slide2d(3, 1) | rl.map2d(
        lambda window: (window | rl.join | rl.reduce(rl.add, 0.0)) / 9.0
    )  # fmt: skip


def numpy_jacobi(grid: NDArray[Any]) -> NDArray[Any]:
    rows, columns = grid.shape
    padded = np.pad(grid, 1, mode="edge").astype(np.float64)
    windows = [padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return np.asarray(np.mean(windows, axis=0))


def show(title: str, program: rl.Lowered) -> None:
    print(f"\n=== {title} ===")
    for stage in ("notation", "rise", "imperative", "affine"):
        print(f"\n--- {stage}\n{program.as_text(stage).rstrip()}")


def compare(title: str, run: Callable[[], NDArray[Any]], expected: NDArray[Any]) -> None:
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    start = time.perf_counter()
    result = run()
    again = time.perf_counter() - start
    error = float(np.max(np.abs(result - expected)))
    print(f"{title}: compiled and run in {first * 1e3:.0f} ms, then {again * 1e3:.2f} ms a call; "
          f"largest difference from NumPy {error:.1e}")  # fmt: skip
    assert np.allclose(result, expected, rtol=1e-4)


def main() -> None:
    generator = np.random.default_rng(0)
    show("matmul, 4x3 times 3x5", matmul.lower(N=4, K=3, M=5))
    show("jacobi, 6x8", jacobi.lower(N=6, M=8))
    print("\n=== compiled ===\n")
    a = generator.random((256, 128), np.float32)
    b = generator.random((128, 192), np.float32)
    compare("matmul 256x128x192", lambda: matmul(a, b), a @ b)
    grid = generator.random((512, 512), np.float32)
    compare("jacobi 512x512", lambda: jacobi(grid), numpy_jacobi(grid))
    print("\nBoth agree with NumPy.")


if __name__ == "__main__":
    main()
