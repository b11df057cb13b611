"""Loads, checks and times the programs of the gallery.

    python examples/gallery/harness.py                 # all programs
    python examples/gallery/harness.py fft nbody       # only these

A program is a module that has a jitted function with its own name, the same computation in NumPy
(`expected`), and `example_inputs(size)`. It may have `picture(result)`, which returns an image with
values from 0 to 1 or bytes, or `summary(result)`, which returns a sentence.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "harness")
SMALL_SIZES = {
    "attention": 12, "bilateral": 9, "bilinear_resize": 8, "bitonic_sort": 16,
    "black_scholes": 40, "conjugate_gradient": 60, "connected_components": 16,
    "convolution_layer": 7, "crc32": 5, "csr_matvec": 12, "dilation": 16, "fft": 4,
    "floyd_warshall": 9, "game_of_life": 12, "gaussian_mixture": 20, "harris": 16,
    "heat_equation": 12, "histogram_equalization": 12, "ising": 8, "jacobi": 12,
    "kalman_filter": 6, "kmeans": 40, "knapsack": 6, "knn": 20, "lattice_boltzmann": 12,
    "levenshtein": 12, "lstm_cell": 6, "lu_decomposition": 8, "mandelbrot": 12,
    "monte_carlo_pi": 8, "nbody": 6, "pagerank": 15, "perlin_noise": 12, "power_spectrum": 128,
    "ray_marching": 12, "smith_waterman": 12, "softmax_regression": 10,
    "stream_compaction": 50, "viterbi": 10, "wave_equation": 12,
}  # fmt: skip
"""The sizes with which the tests run the programs."""
RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""How much floats may differ from NumPy's: relative to the element, and to the largest element."""


@dataclass(frozen=True)
class Program:
    """A program of the gallery."""

    name: str
    module: ModuleType

    @property
    def function(self) -> Any:
        return getattr(self.module, self.name)

    @property
    def expected(self) -> Callable[..., Any]:
        expected: Callable[..., Any] = self.module.expected
        return expected

    @property
    def description(self) -> str:
        return (self.module.__doc__ or "").strip()

    def inputs(self, *, is_small: bool = False) -> tuple[Any, ...]:
        """Arguments of the function: those of the page, or small ones for tests."""
        sizes = (SMALL_SIZES[self.name],) if is_small else ()
        inputs: tuple[Any, ...] = self.module.example_inputs(*sizes)
        return inputs

    def check(self, *, is_small: bool = False) -> None:
        """Compare the results with NumPy's."""
        inputs = self.inputs(is_small=is_small)
        assert_close(self.name, self.function(*inputs), self.expected(*inputs))


@cache
def load(name: str) -> Program:
    """Import a program."""
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(name, module)


def arrays(result: Any) -> list[Any]:
    """Return the arrays of a result, which may be a tuple of them."""
    return list(map(np.asarray, result)) if isinstance(result, tuple) else [np.asarray(result)]


def assert_close(name: str, result: Any, expected: Any) -> None:
    """Compare arrays: integers and Booleans exactly, and floats within a tolerance."""
    for array, other in zip(arrays(result), arrays(expected), strict=True):
        finite = np.abs(other[np.isfinite(other)])
        largest = float(finite.max()) if finite.size else 0.0
        tolerance = ABSOLUTE * largest if other.dtype.kind in "fc" else 0
        relative = RELATIVE if other.dtype.kind in "fc" else 0
        np.testing.assert_allclose(array, other, rtol=relative, atol=tolerance, err_msg=name)


def best_time(call: Callable[[], object], rounds: int = 5) -> float:
    """Return the smallest number of seconds that a call takes."""
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main(names: list[str]) -> None:
    for name in names or NAMES:
        program = load(name)
        inputs = program.inputs()
        program.check()
        ours, theirs = (
            best_time(partial(f, *inputs)) * 1e3 for f in (program.function, program.expected)
        )
        print(f"{name}: {ours:.3f} ms, NumPy {theirs:.3f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
