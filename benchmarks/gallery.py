"""The programs of the gallery beside NumPy, and numba and JAX where they are installed; one thread.

    python benchmarks/gallery.py [--page] [NAME ...]

With `--page`, the figures are written for the page docs/gallery.md. The loops that numba compiles
are in gallery_loops.py and gallery_more_loops.py, and the programs in JAX in gallery_jax.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import gallery_loops
import gallery_more_loops
import numpy as np
from reporting import report
from rivals import has, is_small, pin

from riselang.support.benchmarking import calls_per_sample, seconds_per_call
from riselang.tools.figures import Rival

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples" / "gallery"))

from harness import NAMES, Program, arrays, load  # noqa: E402

PAGE = ROOT / "docs" / "gallery" / "figures.json"
BOUNDS = {"NumPy": 1.0, "numba": 1.2, "JAX": None}
MAX_MISMATCHES = 0.001
"""The maximum fraction of integers by which a rival may differ, since it rounds differently."""
ROUNDS = 15
WARM_CALLS = 5
"""Calls from which the number of calls of a sample is estimated; the first ones take longer."""
Call = Callable[[], object]


def rivals(program: Program, inputs: tuple[Any, ...]) -> Iterator[tuple[str, Call]]:
    """The calls of the same computation with other tools."""
    yield "NumPy", lambda: program.expected(*inputs)
    if has("numba"):
        yield "numba", in_numba(program, inputs)
    if has("jax") and (call := in_jax(program, inputs)) is not None:
        yield "JAX", call


def in_numba(program: Program, inputs: tuple[Any, ...]) -> Call:
    numba: Any = import_module("numba")
    name = program.name
    loops = getattr(gallery_loops, name, None) or getattr(gallery_more_loops, name)
    compiled = numba.njit(fastmath=True, boundscheck=False, error_model="numpy")(loops)
    if name == "power_spectrum":
        inputs = (*inputs, *program.module.waves(len(inputs[0])))
    return lambda: compiled(*inputs)


def in_jax(program: Program, inputs: tuple[Any, ...]) -> Call | None:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    function = getattr(import_module("gallery_jax"), program.name, None)
    if function is None:
        return None
    static = [position for position, each in enumerate(inputs) if isinstance(each, int)]
    compiled = jax.jit(function, static_argnums=static)
    given = [each if isinstance(each, int) else jax.numpy.asarray(each) for each in inputs]
    return lambda: jax.block_until_ready(compiled(*given))


def is_same(result: Any, other: Any) -> bool:
    """Whether two results agree, except for a few integers that depend on rounding."""
    for array, expected in zip(arrays(result), arrays(other), strict=True):
        if expected.dtype.kind not in "fc":
            if (array != expected).mean() > MAX_MISMATCHES:
                return False
        else:
            finite = np.abs(expected[np.isfinite(expected)])
            largest = float(finite.max()) if finite.size else 1.0
            if not np.allclose(array, expected, rtol=1e-2, atol=1e-3 * largest):
                return False
    return True


def cpu_samples(rivals: Sequence[Call], rounds: int) -> list[tuple[float, ...]]:
    """The seconds of CPU time of a call to each rival in each round, interleaved.

    All of them run on one core; unlike the time of the clock, it does not include other processes.
    A call before each sample brings the data of this rival back into the caches.
    """
    counts = [
        calls_per_sample(min(seconds_per_call(rival) for _ in range(WARM_CALLS)))
        for rival in rivals
    ]
    taken: list[list[float]] = [[] for _ in rivals]
    for _ in range(rounds):
        for times, rival, count in zip(taken, rivals, counts, strict=True):
            rival()
            start = time.process_time()
            for _ in range(count):
                rival()
            times.append((time.process_time() - start) / count)
    return [tuple(times) for times in taken]


def measure(name: str, rounds: int) -> dict[str, float]:
    """Report the times of a program and its rivals; return their medians in seconds."""
    program = load(name)
    inputs = program.inputs(is_small=is_small())
    ours: Call = lambda: program.function(*inputs)  # noqa: E731
    others = dict(rivals(program, inputs))
    expected = tuple(arrays(program.expected(*inputs)))
    for each, call in {"riselang": ours, **others}.items():
        if not is_same(tuple(arrays(call())), expected):
            sys.exit(f"error: {name}: {each} computes something else")
    taken = cpu_samples([ours, *others.values()], rounds)
    for (rival, _), times in zip(others.items(), taken[1:], strict=True):
        report(name, taken[0], Rival(rival, times), bound=BOUNDS[rival])
    names = ("riselang", *others)
    return {each: statistics.median(times) for each, times in zip(names, taken, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the programs of the gallery.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--page", action="store_true", help="write the figures for the page")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    pin(1)
    figures: dict[str, dict[str, float]] = json.loads(PAGE.read_text()) if PAGE.exists() else {}
    for name in options.names or NAMES:
        figures[name] = measure(name, 3 if is_small() else ROUNDS)
        if options.page:
            PAGE.write_text(json.dumps(dict(sorted(figures.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
