"""Fair timing on noisy machines: rivals take turns in each round, and medians are compared."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence

REST = 0.3
"""Seconds between turns on several cores: the OpenMP threads of rivals poll for 0.2."""


def pin_threads() -> None:
    """One thread for everybody, on one core; to be called before numpy is imported."""
    for name in ("RISE", "OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def samples(
    rivals: Sequence[Callable[[], object]], rounds: int = 25, calls: int = 1
) -> list[tuple[float, ...]]:
    """The seconds of a call of each rival, in each round."""
    # Not at the top: it imports numpy, and threads are to be pinned before.
    from riselang.support.benchmarking import time_interleaved

    for rival in rivals:
        rival()
    taking_turns = [(rival, calls) for rival in rivals]
    return time_interleaved(taking_turns, rounds, rest=_rest(), warms_caches=len(rivals) > 1)


def _rest() -> float:
    is_pinned = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1
    return 0.0 if is_pinned else REST


def medians(
    rivals: Sequence[Callable[[], object]], rounds: int = 25, calls: int = 1
) -> list[float]:
    """The median seconds of a call of each rival."""
    return [statistics.median(taken) for taken in samples(rivals, rounds, calls)]
