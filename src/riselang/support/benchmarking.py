"""Fair timing on noisy machines: all rivals are measured interleaved, so noise affects them alike.

A *round* measures each rival once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

Action = Callable[[], object]

MIN_SAMPLE_SECONDS = 1e-3
"""Seconds; a shorter action is called several times for one sample, to reduce jitter."""
MAX_CALLS = 10_000
MAX_SECONDS = 20.0
"""The maximum of seconds for all rounds together."""
MIN_ROUNDS = 5
WARMUP_SECONDS = 0.05
"""Seconds after which the system has distributed threads that slept over the cores."""


def seconds_per_call(action: Action, calls: int = 1) -> float:
    """Return the mean seconds of a call over several calls."""
    start = time.perf_counter()
    for _ in range(calls):
        action()
    return (time.perf_counter() - start) / calls


def calls_per_sample(seconds: float) -> int:
    """Return the number of calls for a sample, given the seconds of one call."""
    return min(MAX_CALLS, max(1, math.ceil(MIN_SAMPLE_SECONDS / max(seconds, 1e-9))))


def round_count(seconds: float, max_rounds: int) -> int:
    """Return the number of rounds to measure, given the seconds that each takes."""
    return min(max_rounds, max(MIN_ROUNDS, int(MAX_SECONDS / seconds)))


def time_interleaved(
    rivals: Sequence[tuple[Action, int]],
    rounds: int,
    after_round: Action = lambda: None,
    rest: float = 0.0,
    *,
    warms_caches: bool = False,
) -> list[tuple[float, ...]]:
    """Return the seconds per call of each rival in all rounds; a rival is an action and its number
    of calls per sample. With `warms_caches`, an unmeasured call precedes each sample, which would
    find the data of another rival in the caches. Every second round is in reverse order, so that no
    rival always follows the same one, whose threads may still end or free memory.

    Threads that a rival has used may spin for a while, and occupy a core that the next rival needs:
    `rest` is the number of seconds to wait before each sample. Then unmeasured calls wake the
    rival's own threads, which may share a core at first.
    """
    taken: list[list[float]] = [[] for _ in rivals]
    turns = list(zip(taken, rivals, strict=True))
    for number in range(rounds):
        for samples, (action, calls) in turns[:: -1 if number % 2 else 1]:
            if rest:
                time.sleep(rest)
                _warm_up(action)
            elif warms_caches:
                action()
            samples.append(seconds_per_call(action, calls))
        after_round()
    return [tuple(samples) for samples in taken]


def _warm_up(action: Action) -> None:
    end = time.perf_counter() + WARMUP_SECONDS
    action()
    while time.perf_counter() < end:
        action()
