"""Compile and measure one strategy of a program; this runs in a worker process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from riselang.api.entry import loads
from riselang.runtime.arrays import Array
from riselang.support.benchmarking import calls_per_sample, seconds_per_call, time_interleaved
from riselang.support.comparison import are_close, are_identical, flatten_results
from riselang.support.errors import RiseError

FIRST_ROUNDS = 3
"""Rounds after which a strategy that is clearly slower than the incumbent is given up."""
HOPELESS_RATIO = 1.25
ROUNDS = 11
LONG_SECONDS = 0.5
"""Programs that take longer are measured in fewer rounds."""


@dataclass(frozen=True)
class Task:
    """A program to tune, with its inputs and the results that every strategy must compute."""

    program: str
    """The program in notation."""
    options: tuple[tuple[str, str], ...]
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the results of all strategies are bitwise identical."""
        return dict(self.options)["float"] != "relaxed"


@dataclass(frozen=True)
class Outcome:
    """The time of a strategy, or why it has none."""

    status: str
    seconds: float | None = None
    incumbent_seconds: float | None = None
    """The time of the strategy that was measured alternately with it."""
    reason: str = ""


def compile_strategy(task: Task, strategy: str) -> Outcome:
    """Apply a strategy, compile the program and store it in the kernel cache."""
    try:
        _prepare(task, strategy)
    except RiseError as error:
        return Outcome("inapplicable", reason=_short_reason(error))
    return Outcome("compiled")


def measure_strategy(task: Task, strategy: str, incumbent: str | None, rounds: int) -> Outcome:
    """Check the results of a strategy, and measure it alternately with the incumbent."""
    try:
        call = _prepare(task, strategy)
        results = flatten_results(call())
    except RiseError as error:
        return Outcome("inapplicable", reason=_short_reason(error))
    same = are_identical if task.is_exact else are_close
    if not same(results, task.expected):
        return Outcome("wrong", reason="the results differ from those of the source program")
    calls = [call] if incumbent is None else [call, _prepare(task, incumbent)]
    with _measuring_alone():
        samples = _measure(calls, rounds)
    # Other processes can only make a call slower.
    fastest = [min(each) for each in samples]
    return Outcome("measured", fastest[0], fastest[1] if incumbent is not None else None)


def evaluate_strategy(task: Task, strategy: str, incumbent: str | None, rounds: int) -> Outcome:
    """Compile and measure a strategy."""
    outcome = compile_strategy(task, strategy)
    if outcome.status != "compiled":
        return outcome
    return measure_strategy(task, strategy, incumbent, rounds)


def _short_reason(error: RiseError) -> str:
    """Return the cause of an error, without the strategy, which the trial contains."""
    line = str(error).partition("\n")[0]
    return line.partition(" does not apply: ")[2] or line


def _prepare(task: Task, strategy: str) -> Callable[[], Any]:
    """Return a call of the program."""
    kernel = _load(task.program, task.options, strategy)
    kernel.lower(*task.inputs).compile()
    return lambda: kernel(*task.inputs)


@lru_cache(maxsize=4)
def _load(program: str, options: tuple[tuple[str, str], ...], strategy: str) -> Any:
    settings: Any = dict(options)
    return loads(program, name="program.rise", strategy=strategy, **settings).main


def _measure(calls: Sequence[Callable[[], Any]], rounds: int) -> list[tuple[float, ...]]:
    rivals = [(call, calls_per_sample(_warm_up(call))) for call in calls]
    total = sum(seconds_per_call(call) for call in calls)
    first = min(rounds, 1 if total > LONG_SECONDS else FIRST_ROUNDS)
    samples = time_interleaved(rivals, first)
    if len(samples) > 1 and min(samples[0]) > HOPELESS_RATIO * min(samples[1]):
        return samples
    rounds = min(rounds, FIRST_ROUNDS) if total > LONG_SECONDS else rounds
    more = time_interleaved(rivals, max(0, rounds - first))
    return [(*a, *b) for a, b in zip(samples, more, strict=True)]


def _warm_up(call: Callable[[], Any]) -> float:
    """Return the seconds of a call; the first one may be slower."""
    return min(seconds_per_call(call) for _ in range(2))


@contextlib.contextmanager
def _measuring_alone() -> Generator[None]:
    """Hold a lock, so that no two workers on this machine measure at the same time."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = Path(tempfile.gettempdir()) / f"riselang-measure-{os.getuid()}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
