"""Every version of matmul in GFLOP/s, beside the libraries and what this machine can do at most."""

from __future__ import annotations

import os
import statistics
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from blas_rivals import libraries, on_threads
from reporting import record
from timing import samples

import riselang as rl
from riselang.explorer.peaks import REPEATS, operations_in_a_second
from riselang.rewrite.strategies.matmul import LADDER
from riselang.tools.figures import Rival

MATMUL = """fun((A : {0}.{0}.f32, B : {0}.{0}.f32), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
CHART = Path(__file__).parent.parent / "build/bench/matmul_ladder_gflops.png"


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


def draw(speeds: dict[str, float], size: int) -> None:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(8, 0.4 * len(speeds) + 1), layout="constrained")
    axes = canvas.add_subplot()
    axes.barh(list(speeds), [speed / 1e9 for speed in speeds.values()], color="#3b6ea5")
    axes.invert_yaxis()
    axes.set_title(f"matmul {size} cubed, GFLOP/s on one thread", loc="left")
    CHART.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(CHART, dpi=150)


def main(sizes: tuple[int, ...], rounds: int, repeats: int, *, draws: bool) -> None:
    with on_threads(1):
        most = operations_in_a_second(rounds, repeats)
        speeds: dict[str, float] = {}
        for size in sizes:
            speeds = {**ladder(size, rounds), "peak (measured)": most}
            show(size, speeds, most)
    if draws and find_spec("matplotlib") is not None:
        draw(speeds, sizes[-1])


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        main((32,), 3, 1000, draws=False)
    else:
        main((512, 1024), 5, REPEATS, draws=True)
