"""The time and the memory of gradients, relative to their functions.

    python benchmarks/derivatives_ratios.py [--memory] [NAME ...]

The times are those of the Gaussian mixtures of the benchmark suite ADBench and of k-means, at the
sizes of the paper on derivatives in Futhark (SC22). With `--memory`, the peak memory of the calls
of `derivatives.py` is printed, and that of JAX's: temporaries and results, without arguments.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from derivatives import inputs, mixture, normal
from reporting import report
from rivals import has, is_small, pin

import riselang as rl
from gallery import cpu_samples
from riselang.tools.figures import Rival

losses: Any = import_module("losses")
MIXTURES = {
    "D0": (1_000, 64, 200), "D1": (1_000, 128, 200), "D2": (10_000, 32, 200),
    "D3": (10_000, 64, 25), "D4": (10_000, 128, 25), "D5": (10_000, 128, 200),
}  # fmt: skip
"""The points, dimensions and components of the paper's mixtures."""
CLUSTERS = {"D0": (5, 494_019, 35), "D1": (1024, 10_000, 256), "D2": (1024, 2_000_000, 10)}
"""The clusters, points and dimensions of the paper's k-means."""
MEMORY_VARIABLES = {
    "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TOP_PAD_": "0", "RISE_TEMPORARY_POOL": "0",
}  # fmt: skip
"""With these, freed arrays return to the system, so that the peak is that of one call."""
PR_SET_THP_DISABLE = 41
"""The number of this operation of Linux's `prctl`."""
STEPS = 200
"""The steps of the heat equation whose states are stored, or computed again in parts."""


def mixture_case(points: int, size: int, components: int) -> tuple[Any, tuple[Any, ...]]:
    params, values = mixture(np.random.default_rng(0), components, points, size)
    doubles = tuple(each.astype(np.float64) for each in params)
    return losses.mixture, (doubles, values.astype(np.float64))


def clusters_case(clusters: int, points: int, size: int) -> tuple[Any, tuple[Any, ...]]:
    values = normal(np.random.default_rng(0), points, size)
    return losses.clusters, (values[:clusters].copy(), values)


def measure_times(name: str, function: Any, arguments: tuple[Any, ...]) -> None:
    """Report the time of `value_and_grad`, relative to that of the function."""
    kernels = [rl.jit(each, float="relaxed") for each in (rl.value_and_grad(function), function)]
    calls = [lambda kernel=kernel: kernel(*arguments) for kernel in kernels]
    gradient, primal = cpu_samples(calls, 1 if is_small() else 5)
    report(name, gradient, Rival("the function", primal))


def status(field: str) -> int:
    """Return a number of bytes of this process that Linux counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Return the memory that a call needs in addition to its arguments, with its results."""
    call()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is used now
    before = status("VmRSS")
    result = call()
    peak = status("VmHWM") - before
    del result
    return peak


def jax_bytes(name: str, arguments: Any) -> tuple[int, int]:
    """Return the bytes of the function and of its gradient in JAX: temporaries and results."""
    jax: Any = import_module("jax")
    function = getattr(import_module("derivatives_jax"), name)
    given = jax.tree.map(jax.numpy.asarray, arguments)
    sizes: list[int] = []
    for each in (function, jax.value_and_grad(function)):
        analysis = jax.jit(each).lower(*given).compile().memory_analysis()
        sizes.append(analysis.temp_size_in_bytes + analysis.output_size_in_bytes)
    return sizes[0], sizes[1]


def measure_memory(name: str, function: Any, arguments: tuple[Any, ...], in_jax: str = "") -> None:
    kernels = [rl.jit(each, float="relaxed") for each in (function, rl.value_and_grad(function))]
    own = [peak_bytes(lambda kernel=kernel: kernel(*arguments)) for kernel in kernels]
    sizes = [*own, *(jax_bytes(in_jax, arguments) if in_jax and has("jax") else ())]
    argument_bytes = sum(each.nbytes for each in flatten(arguments))
    texts = [f"{each / 1e6:.1f}" for each in (argument_bytes, *sizes)]
    print(f"| {name} | {' | '.join(texts)} |", flush=True)


def flatten(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in flatten(part)]
    return [value]


def heat_in_parts(parts: int) -> Callable[..., Any]:
    """Return the loss of the heat equation after many steps; the states inside of each part are
    computed again."""

    def loss(rate: Any, plate: Any, measured: Any) -> Any:
        part = rl.checkpoint(lambda state: losses.diffuse(rate, state, STEPS // parts))
        error = rl.iterate(parts, part, plate) - measured
        return (error * error).mean()

    return loss


def long_heat(rate: Any, plate: Any, measured: Any) -> Any:
    error = losses.diffuse(rate, plate, STEPS) - measured
    return (error * error).mean()


def disable_huge_pages() -> None:
    """Count the pages of 4 KiB that are written, not pages of 2 MiB."""
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def print_memory(names: list[str]) -> None:
    disable_huge_pages()
    cases = inputs()
    print("| example | arguments | function | gradient | function in JAX | gradient in JAX |")
    print("|---|---|---|---|---|---|")
    for name, (function, arguments) in cases.items():
        if not names or name.split()[0] in names:
            measure_memory(name, getattr(losses, function), arguments, function)
    if not names or "heat" in names:
        arguments = cases["heat equation"][1]
        measure_memory(f"heat equation, {STEPS} steps", long_heat, arguments)
        for parts in (5, 10, 20):
            name = f"heat equation, {STEPS} steps, `rl.checkpoint` of {parts} parts"
            measure_memory(name, heat_in_parts(parts), arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure gradients relative to their functions.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--memory", action="store_true", help="measure the peak memory")
    options = parser.parse_args()
    os.environ["RISE_NUM_THREADS"] = "1"
    pin(1)
    if options.memory and not os.environ.keys() >= MEMORY_VARIABLES.keys():
        # The C library reads them when the process starts.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MEMORY_VARIABLES})
    if options.memory:
        print_memory(options.names)
        return
    suites = (("GMM", MIXTURES, mixture_case), ("k-means", CLUSTERS, clusters_case))
    for suite, sizes, make_case in suites:
        for label, size in sizes.items():
            if not options.names or f"{suite}-{label}" in options.names:
                numbers = " x ".join(map(str, size))
                measure_times(f"{suite} {label}, {numbers}", *make_case(*size))


if __name__ == "__main__":
    main()
