"""What programs with windows are measured against, and how: one thread and two, same inputs.

Rivals are those that are installed: numba, and Halide where there is a wheel for the machine. All
of them write into memory that is there already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report
from timing import samples

import riselang as rl
from riselang.tools.figures import Rival

PROGRAMS = Path(__file__).parent.parent / "examples/programs"
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


def threads_to_try() -> tuple[int, ...]:
    return (1, 2) if (os.cpu_count() or 1) > 1 else (1,)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Everybody with so many threads; on one core, if there is one."""
    os.environ["RISE_NUM_THREADS"] = os.environ["HL_NUM_THREADS"] = str(count)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if find_spec("numba") is not None:
        import numba

        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    if count == 1 and cores:
        os.sched_setaffinity(0, {cores[-1]})
    yield
    if cores:
        os.sched_setaffinity(0, set(cores))


def ours(
    program: str, strategy: str, inputs: Arrays, shape: tuple[int, ...], float: str = "contract"
) -> Version:
    """A program of the examples under a strategy; for the threads that there are now."""
    loaded: Any = rl.load(PROGRAMS / f"{program}.rise", strategy=strategy, float=float)
    compiled, out = getattr(loaded, program).lower(*inputs).compile(), np.empty(shape, np.float32)
    return Version(strategy, lambda: compiled.run_into(inputs, out), out)


def theirs(
    name: str, function: Callable[..., object], inputs: Arrays, shape: tuple[int, ...]
) -> Version:
    """A function of the inputs and of the memory of the result."""
    out = np.empty(shape, np.float32)
    return Version(name, lambda: function(*inputs, out), out)


def in_numba(function: Callable[..., object], threads: int) -> Callable[..., object]:
    """Loops as numba compiles them at its best, with `prange` on threads."""
    import numba

    return numba.njit(fastmath=True, parallel=threads > 1, boundscheck=False)(function)


def say_what_is_missing() -> None:
    reasons: Mapping[str, str] = {
        "halide": "there is no wheel for this machine, or the extra [bench] is not installed",
        "numba": "pip install 'riselang[bench]'",
    }
    for package, reason in reasons.items():
        if find_spec(package) is None:
            print(f"{package} is not measured: {reason}")


def compare(
    name: str,
    versions: Sequence[Version],
    rivals: Sequence[Version],
    rounds: int,
    *,
    bound: float | None = 1.0,
    tolerance: float = 1e-4,
) -> dict[str, tuple[float, ...]]:
    """All results the same; all take turns; the best of ours beside the best of each rival.

    Returns the samples of every version, by name.
    """
    everyone = [*versions, *rivals]
    for each in everyone:
        each.call()
        assert np.allclose(each.result, everyone[0].result, rtol=tolerance, atol=tolerance), each
    taken = dict(
        zip(
            [each.name for each in everyone],
            samples([each.call for each in everyone], rounds=rounds),
            strict=True,
        )
    )
    medians = {each: float(np.median(times)) for each, times in taken.items()}
    best = min((each.name for each in versions), key=medians.__getitem__)
    for version in versions:
        if version.name != best or not rivals:
            report(f"{name}, {version.name}", taken[version.name])
    for rival in rivals:
        theirs = Rival(rival.name, taken[rival.name])
        report(f"{name}, {best}", taken[best], theirs, bound=bound)
    return taken
