"""What programs with windows are measured against, and how: one thread and two, same inputs.

Rivals are those that are installed: numba, and Halide as a wheel or as Debian's package. All of
them write into memory that is there already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from reporting import FILE_VARIABLE, adopt, report
from timing import samples

import riselang as rl
from riselang.support.benchmarking import calls_per_sample, seconds_per_call
from riselang.tools.figures import Rival, read_report

PROGRAMS = Path(__file__).parent.parent / "examples/programs"
THREADS_VARIABLE = "RISE_BENCH_THREADS"
"""How many threads the process of a benchmark measures with."""
THREAD_POOLS = ("RISE", "HL", "NUMBA", "OMP", "OPENBLAS", "MKL")
"""Whose numbers of threads the environment sets; a process cannot change all of them later."""
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # on a machine with a GPU, JAX would use it
BOUND = 1.1
"""The maximum of our time relative to a rival's, where a benchmark states no other."""
DEBIAN = "/usr/lib/python3/dist-packages"
"""Where Debian has its packages for Python."""
Arrays = Sequence[Any]
Call = Callable[[], object]


@dataclass(frozen=True)
class Version:
    """One way to compute something: given inputs and the memory of the result, a call."""

    name: str
    call: Call
    result: Any


def is_small() -> bool:
    """Whether a run is only to see that everything works."""
    return bool(os.environ.get("RISE_SCALING_SHARE"))


def for_each_count_of_threads(
    measure: Callable[[int], None], counts: Sequence[int] = (1, 2)
) -> None:
    """One thread on one core, then two; in processes of their own, since pools stay as they are."""
    given = os.environ.get(THREADS_VARIABLE)
    if given is not None or is_small():
        measure(int(given or 1))
        return
    say_what_is_missing()
    for count in counts if (os.cpu_count() or 1) > 1 else (1,):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "figures.json")
            names = [f"{each}_NUM_THREADS" for each in THREAD_POOLS]
            threads = {name: str(count) for name in (*names, THREADS_VARIABLE)}
            environment = {**os.environ, **threads, FILE_VARIABLE: str(file)}
            subprocess.run([sys.executable, *sys.argv], check=True, env=environment)
            adopt(read_report(file).figures)


def pin(threads: int) -> None:
    """One thread stays on one core."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def with_threads(name: str, count: int) -> str:
    return f"{name}, {count} thread{'s' * (count > 1)}"


def ours(
    program: str, strategy: str, inputs: Arrays, shape: tuple[int, ...], float: str = "contract"
) -> Version:
    """A program of the examples under a strategy; for the threads that there are now."""
    loaded: Any = rl.load(PROGRAMS / f"{program}.rise", strategy=strategy, float=float)
    compiled, out = getattr(loaded, program).lower(*inputs).compile(), np.empty(shape, np.float32)
    return Version(strategy, lambda: compiled(*inputs, out=out), out)


def theirs(
    name: str, function: Callable[..., object], inputs: Arrays, shape: tuple[int, ...]
) -> Version:
    """A function of the inputs and of the memory of the result."""
    out = np.empty(shape, np.float32)
    return Version(name, lambda: function(*inputs, out), out)


def in_numba(function: Callable[..., object], threads: int) -> Callable[..., object]:
    """Loops as numba compiles them at its best, with `prange` on threads."""
    numba: Any = import_module("numba")
    return numba.njit(fastmath=True, parallel=threads > 1, boundscheck=False)(function)


def has(package: str) -> bool:
    """Whether a rival is there; small runs are without, since rivals take long to compile."""
    return not is_small() and _spec(package) is not None


def loaded(package: str) -> ModuleType:
    """A rival, from a wheel or from a package of Debian, whose others stay out of the way."""
    spec = _spec(package)
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} is not installed")
    if package not in sys.modules:
        sys.modules[package] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return sys.modules[package]


def _spec(package: str) -> ModuleSpec | None:
    if package in sys.modules:
        return sys.modules[package].__spec__
    return find_spec(package) or PathFinder.find_spec(package, [DEBIAN])


def say_what_is_missing() -> None:
    reasons: Mapping[str, str] = {
        "halide": "install the extra [bench] or, where there is no wheel, Debian's python3-halide",
        "numba": "pip install 'riselang[bench]'",
    }
    for package, reason in reasons.items():
        if _spec(package) is None:
            print(f"{package} is not measured: {reason}")


def compare(
    name: str,
    versions: Sequence[Version],
    rivals: Sequence[Version],
    rounds: int,
    *,
    bound: float | None = BOUND,
    tolerance: float = 1e-4,
) -> dict[str, tuple[float, ...]]:
    """All results the same; all take turns; the best of ours beside the best of each rival.

    Returns the samples of every version, by name.
    """
    everyone = [*versions, *rivals]
    for each in everyone:
        each.call()
        assert np.allclose(each.result, everyone[0].result, rtol=tolerance, atol=tolerance), each
    calls = [each.call for each in everyone]
    count = min(calls_per_sample(seconds_per_call(each)) for each in calls)
    names = [each.name for each in everyone]
    taken = dict(zip(names, samples(calls, rounds, count), strict=True))
    medians = {each: float(np.median(times)) for each, times in taken.items()}
    best = min((each.name for each in versions), key=medians.__getitem__)
    for version in versions:
        if version.name != best or not rivals:
            report(f"{name}, {version.name}", taken[version.name])
    for rival in rivals:
        theirs = Rival(rival.name, taken[rival.name])
        report(f"{name}, {best}", taken[best], theirs, bound=bound)
    return taken
