"""Fair timing on noisy machines: rivals take turns in each round, and so meet the same noise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

Action = Callable[[], object]

SHORTEST_SAMPLE = 1e-3
"""Seconds; what takes less is called several times for a sample, since clocks and caches jitter."""
MOST_CALLS = 10_000
LONGEST = 20.0
"""Seconds that all rounds together should take."""
FEWEST_ROUNDS = 5
WAKING = 0.05
"""Seconds after which threads that slept are on cores of their own."""


def seconds_of(action: Action, calls: int = 1) -> float:
    """The seconds of one call, when called so often."""
    start = time.perf_counter()
    for _ in range(calls):
        action()
    return (time.perf_counter() - start) / calls


def calls_for(seconds: float) -> int:
    """How many calls make a sample, if one takes that long."""
    return min(MOST_CALLS, max(1, math.ceil(SHORTEST_SAMPLE / max(seconds, 1e-9))))


def rounds_for(seconds: float, wanted: int) -> int:
    """How many rounds to measure, if one takes that long."""
    return min(wanted, max(FEWEST_ROUNDS, int(LONGEST / seconds)))


def interleaved(
    rivals: Sequence[tuple[Action, int]],
    rounds: int,
    after_round: Action = lambda: None,
    rest: float = 0.0,
) -> list[tuple[float, ...]]:
    """The seconds of a call of each rival in each round; with it stands how often it is called.

    Threads that a rival has used may go on turning for a while, in case there is more to do, and so
    take a core from the next one: `rest` is how many seconds everybody waits before a turn. Calls
    that are not measured then wake the own threads, which may share a core at first.
    """
    taken: list[list[float]] = [[] for _ in rivals]
    for _ in range(rounds):
        for samples, (action, calls) in zip(taken, rivals, strict=True):
            if rest:
                time.sleep(rest)
                _wake(action)
            samples.append(seconds_of(action, calls))
        after_round()
    return [tuple(samples) for samples in taken]


def _wake(action: Action) -> None:
    end = time.perf_counter() + WAKING
    action()
    while time.perf_counter() < end:
        action()
