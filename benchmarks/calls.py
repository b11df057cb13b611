"""What one call on small arrays costs, and how long a new process takes to its first result.

The rival is `jax.jit`, in the same run; in a new process both have their caches.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

OURS = """
import sys, numpy as np, riselang as rl
@rl.jit
def axpy(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(lambda a, b: 2.0 * a + b)
x, y = np.ones(1000, np.float32), np.arange(1000, dtype=np.float32)
assert np.allclose(axpy(x, y), 2 * x + y)
"""
THEIRS = """
import sys, numpy as np, jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
axpy = jax.jit(lambda x, y: 2.0 * x + y)
x, y = np.ones(1000, np.float32), np.arange(1000, dtype=np.float32)
assert np.allclose(axpy(x, y), 2 * x + y)
"""


@rl.jit
def axpy(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda a, b: 2.0 * a + b)


@rl.jit
def selected(x: rl.Array["N", rl.f32], indices: rl.Array["M", rl.i32]) -> Any:
    return x[indices]


def checked_call_cost(rounds: int, inner: int) -> None:
    """The rival is a call without run-time checks; the bound allows for the checks themselves."""
    x, indices = np.ones(16, np.float32), np.arange(16, dtype=np.int32)
    calls = [lambda: selected(x, indices), lambda: axpy(x, x)]
    ours, theirs = samples(calls, rounds=rounds, calls=inner)
    report("one call with checks, 16 elements", ours, Rival("without", theirs), bound=1.1)


def call_cost(name: str, function: Any, arguments: Sequence[Any], rounds: int, inner: int) -> None:
    ours = rl.jit(function)
    calls = [lambda: ours(*arguments)]
    if find_spec("jax") is not None:
        # Only `make bench` installs it.
        jax: Any = import_module("jax")
        theirs = jax.jit(function)
        calls.append(lambda: jax.block_until_ready(theirs(*arguments)))
    own, *others = samples(calls, rounds=rounds, calls=inner)
    report(name, own, Rival("jax.jit", others[0]) if others else None, bound=1.0)


def call_costs(rounds: int, inner: int) -> None:
    x, y = np.ones(16, np.float32), np.arange(16, dtype=np.float32)
    call_cost("one call, 16 elements", lambda a, b: 2.0 * a + b, (x, y), rounds, inner)
    layers = {"w": [x, y], "b": [x, y]}
    call_cost("one call with a dictionary of lists", scaled_layers, (layers, y), rounds, inner)


def scaled_layers(layers: Any, x: Any) -> Any:
    return {name: [x * layer for layer in each] for name, each in sorted(layers.items())}


def first_result(rounds: int) -> None:
    """Both have run before; what is measured has the start of Python and all imports in it."""
    with tempfile.TemporaryDirectory() as folder:
        programs = [OURS, THEIRS] if find_spec("jax") is not None else [OURS]
        for program in programs:
            started(program, folder)
        times: list[list[float]] = [[] for _ in programs]
        for _ in range(rounds):
            for program, taken in zip(programs, times, strict=True):
                taken.append(started(program, folder))
    rival = Rival("jax.jit", tuple(times[1])) if len(times) > 1 else None
    report("first result of a new process, from the cache", times[0], rival, bound=1.0)


def started(program: str, folder: str) -> float:
    environment = {**os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": f"{folder}/rise"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, f"{folder}/jax"], env=environment, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        call_costs(3, 10)
        checked_call_cost(3, 10)
        first_result(1)
    else:
        call_costs(15, 2000)
        checked_call_cost(15, 2000)
        first_result(9)
