"""Products of matrices in C beside the same computation by calls of OpenBLAS, on one thread.

    python benchmarks/c_lifted.py [KERNEL ...]

Ours is what `rl.from_c` gives with `float="relaxed"`, which OpenBLAS takes without being asked:
products are lifted to RISE and compiled by the default strategy. `blas` is what `library="blas"`
makes of the same file. The time of the processor counts, in the best of the rounds.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from timing import pin_threads

pin_threads()

import numpy as np  # noqa: E402
from c_kernels import ROUNDS, SCALE, SIZES  # noqa: E402
from c_rivals import KERNELS, Contest  # noqa: E402
from reporting import record  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.native.llvm import shared_libraries as libraries  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

LARGE = {
    **{name: SIZES[name] for name in ("gemm", "doitgen", "syrk")},
    "2mm": {"ni": 800, "nj": 900, "nk": 1100, "nl": 1200},
    "3mm": {"ni": 800, "nj": 900, "nk": 1000, "nl": 1100, "nm": 1200},
    "syr2k": {"n": 1200, "m": 1000},
}
LEAST = 0.9
ROW_MAJOR, PLAIN, TURNED, LOWER = 101, 111, 112, 122
Array = np.ndarray[Any, np.dtype[Any]]


class OpenBlas:
    """The routines, for matrices whose rows lie one behind the other."""

    def __init__(self) -> None:
        path = libraries.library_path(libraries.BLAS)
        self._library = ctypes.CDLL(path)
        self._prefix = libraries.blas_prefix(path) or ""

    def _call(self, routine: str, *arguments: Any) -> None:
        passed = [
            ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray)
            else ctypes.c_double(each) if isinstance(each, float) else ctypes.c_int(each)
            for each in arguments
        ]  # fmt: skip
        getattr(self._library, f"{self._prefix}cblas_d{routine}")(*passed)

    def gemm(self, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
        (rows, depth), columns = a.shape, b.shape[1]
        self._call("gemm", ROW_MAJOR, PLAIN, PLAIN, rows, columns, depth, alpha, a, depth,
                   b, columns, beta, c, columns)  # fmt: skip

    def syrk(self, alpha: float, a: Array, beta: float, c: Array) -> None:
        rows, depth = a.shape
        self._call("syrk", ROW_MAJOR, LOWER, PLAIN, rows, depth, alpha, a, depth, beta, c, rows)

    def syr2k(self, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
        rows, depth = a.shape
        self._call("syr2k", ROW_MAJOR, LOWER, PLAIN, rows, depth, alpha, a, depth, b, depth,
                   beta, c, rows)  # fmt: skip


def by_calls(blas: OpenBlas) -> dict[str, Callable[..., None]]:
    """Each kernel as a person would write it with the library, with the parameters it has in C."""

    def two_mm(*given: Any) -> None:
        *_, alpha, beta, t, a, b, c, d = given
        blas.gemm(alpha, a, b, 0.0, t)
        blas.gemm(1.0, t, c, beta, d)

    def three_mm(*given: Any) -> None:
        *_, e, a, b, f, c, d, g = given
        blas.gemm(1.0, a, b, 0.0, e)
        blas.gemm(1.0, c, d, 0.0, f)
        blas.gemm(1.0, e, f, 0.0, g)

    def doitgen(nr: int, nq: int, np_: int, a: Array, c: Array, row: Array) -> None:
        flat = a.reshape(nr * nq, np_)
        result = np.empty_like(flat)
        blas.gemm(1.0, flat, c, 0.0, result)
        flat[...] = result
        row[...] = result[-1]

    return {
        "gemm": lambda *g: blas.gemm(g[3], g[6], g[7], g[4], g[5]),
        "2mm": two_mm, "3mm": three_mm, "doitgen": doitgen,
        "syrk": lambda *g: blas.syrk(g[2], g[5], g[3], g[4]),
        "syr2k": lambda *g: blas.syr2k(g[2], g[5], g[6], g[3], g[4]),
    }  # fmt: skip


def main(names: list[str]) -> None:
    theirs = by_calls(OpenBlas())
    for name in names or list(LARGE):
        sizes = {key: int(size * SCALE) for key, size in LARGE[name].items()}
        path = KERNELS / f"{name}.c"
        calls: dict[str, Callable[..., object]] = {
            "ours": rl.from_c(path, float="relaxed"),
            "blas": rl.from_c(path, library="blas"),
            "OpenBLAS": theirs[name],
        }
        taken = {key: min(times) for key, times in seconds(name, sizes, calls).items()}
        rival = taken["OpenBLAS"]
        record(f"{name}, lifted", [taken["ours"]], Rival("OpenBLAS", (rival,)))
        print(f"{name:<10}" + "".join(
            f"{key} {time * 1e3:7.1f}ms {rival / time:5.2f}x   " for key, time in taken.items()
        ), flush=True)  # fmt: skip
    print(f"to hold: ours at least {LEAST} of OpenBLAS")


def seconds(
    name: str, sizes: dict[str, int], calls: dict[str, Callable[..., object]]
) -> dict[str, list[float]]:
    """Seconds of the processor of each, in turns; results must agree."""
    arguments = Contest.arguments(name, sizes)
    taken: dict[str, list[float]] = {key: [] for key in calls}
    for turn in range(ROUNDS + 1):
        results: list[list[Any]] = []
        for key, call in calls.items():
            working = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
            start = time.process_time()
            call(*working)
            end = time.process_time()
            taken[key] += [end - start] if turn else []
            results.append([each for each in working if isinstance(each, np.ndarray)])
        for found in results[:-1]:
            for mine, right in zip(found, results[-1], strict=True):
                np.testing.assert_allclose(mine, right, rtol=1e-9)
    return taken


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(LARGE)
    if unknown:
        sys.exit(f"no kernel with products is called {min(unknown)}")
    main(sys.argv[1:])
