"""Every version of matmul in GFLOP/s, beside the libraries and what this machine can do at most."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from blas_rivals import libraries
from reporting import PEAK, record
from rivals import for_each_count_of_threads, is_small, pin
from timing import samples

import riselang as rl
from riselang.rewrite.strategies.matmul import LADDER
from riselang.tools.figures import Rival
from riselang.tuning.peaks import REPEATS, operations_per_second

MATMUL = """fun((A : {0}.{0}.f32, B : {0}.{0}.f32), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""


def ladder(size: int, rounds: int) -> dict[str, float]:
    """Operations in a second of each version, and of the libraries."""
    source = np.random.default_rng(0)
    a, b = (source.random((size, size), np.float32) for _ in range(2))
    text = MATMUL.format(size)
    kernels: dict[str, Any] = {"as written": _kernel(text, "none")}
    kernels |= {str(strategy): _kernel(text, strategy) for strategy in LADDER}
    kernels["default"] = _kernel(text, None)
    expected = kernels["as written"](a, b)
    for name, kernel in kernels.items():
        assert np.array_equal(kernel(a, b), expected), f"{name} gives other bits"
    calls = [lambda kernel=kernel: kernel(a, b) for kernel in kernels.values()]
    calls += [lambda each=each: each.matmul(a, b) for each in libraries()]
    taken = samples(calls, rounds=rounds)
    names = [*kernels, *(each.name for each in libraries())]
    theirs = dict(zip(names, taken, strict=True))
    rival = min((each.name for each in libraries()), key=lambda name: _median(theirs, name))
    for name in kernels:
        record(f"matmul {size} cubed, {name}", theirs[name], Rival(rival, theirs[rival]))
    return {name: 2 * size**3 / _median(theirs, name) for name in names}


def _kernel(text: str, strategy: Any) -> Any:
    loaded: Any = rl.loads(text, name="program.rise", strategy=strategy)
    return loaded.main


def _median(taken: dict[str, tuple[float, ...]], name: str) -> float:
    return statistics.median(taken[name])


def show(size: int, speeds: dict[str, float], most: float) -> None:
    print(f"matmul {size} cubed, one thread, GFLOP/s")
    for name, speed in speeds.items():
        print(f"{name:24} {speed / 1e9:8.1f}  {'#' * round(40 * speed / most)}")


def measure(threads: int) -> None:
    pin(threads)
    sizes, rounds, repeats = ((32,), 3, 1000) if is_small() else ((512, 1024), 5, REPEATS)
    most = operations_per_second(rounds, repeats)
    record(PEAK, [1e9 / most])
    for size in sizes:
        show(size, {**ladder(size, rounds), "peak (measured)": most}, most)


if __name__ == "__main__":
    for_each_count_of_threads(measure, (1,))
