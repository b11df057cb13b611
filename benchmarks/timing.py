"""Fair timing on noisy machines: rivals take turns in each round, and medians are compared."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence


def pin_threads() -> None:
    """One thread for everybody, on one core."""
    for name in ("RISE", "OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def medians(
    rivals: Sequence[Callable[[], object]], rounds: int = 25, calls: int = 1
) -> list[float]:
    """The median seconds of a call of each rival."""
    times: list[list[float]] = [[] for _ in rivals]
    for rival in rivals:
        rival()
    for _ in range(rounds):
        for taken, rival in zip(times, rivals, strict=True):
            start = time.perf_counter()
            for _ in range(calls):
                rival()
            taken.append((time.perf_counter() - start) / calls)
    return [statistics.median(taken) for taken in times]
