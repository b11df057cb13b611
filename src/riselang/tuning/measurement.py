"""Compile and measure one strategy of a program; this runs in a worker process."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from riselang.api.entry import loads
from riselang.native import cuda
from riselang.runtime.arrays import Array
from riselang.runtime.device_arrays import to_gpu
from riselang.support.benchmarking import calls_per_sample, seconds_per_call, time_interleaved
from riselang.support.comparison import are_close, are_identical, flatten_results
from riselang.support.errors import RiseError
from riselang.support.lazy import cached_property
from riselang.tuning.pruning import excess_operations, peak_rate

FIRST_ROUNDS = 3
"""Rounds after which a strategy that is clearly slower than the incumbent is given up."""
HOPELESS_RATIO = 1.25
ROUNDS = 11
LONG_SECONDS = 0.5
"""By default, programs that take longer are measured in fewer rounds."""
INTERRUPTION_SECONDS = 0.1
"""One call that takes less may seem slow because something interrupted it, so it is repeated."""
GPU_CALLS = 10
"""The launches of a sample on a GPU, which hide the time that each takes on the CPU."""


@dataclass(frozen=True)
class Task:
    """A program to tune, with its inputs and the results that every strategy must compute."""

    program: str
    """The program in notation."""
    options: tuple[tuple[str, str], ...]
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]

    def without_values(self) -> Task:
        """Return the task for workers that only compile: they need the shapes of the inputs."""
        inputs = [np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in self.inputs]
        return replace(self, inputs=tuple(inputs), expected=())

    @property
    def is_on_gpu(self) -> bool:
        return dict(self.options)["loops"] == "gpu"

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """The inputs in the memory where the program computes."""
        return tuple(map(to_gpu, self.inputs)) if self.is_on_gpu else self.inputs

    @property
    def is_exact(self) -> bool:
        """Whether the results of all strategies are bitwise identical."""
        return dict(self.options)["float"] != "relaxed"


@dataclass(frozen=True)
class Pace:
    """How often to measure, and whether no other worker on this machine measures meanwhile."""

    rounds: int = ROUNDS
    first_rounds: int = FIRST_ROUNDS
    warm_ups: int = 2
    summarize: Callable[[Sequence[float]], float] = min
    """By default the minimum: other processes can only make a call slower."""
    hopeless_at_once: float = math.inf
    """The ratio to the incumbent after the first calls from which no other round is measured."""
    long_seconds: float = LONG_SECONDS


USUAL = Pace()
BRIEF = Pace(5, 1, 1, median, 2.0, long_seconds=0.02)
"""For many strategies, most of which are slow, while nothing else runs."""


@dataclass(frozen=True)
class Outcome:
    """The time of a strategy, or why it has none."""

    status: str
    seconds: float | None = None
    incumbent_seconds: float | None = None
    """The time of the strategy that was measured alternately with it."""
    reason: str = ""
    program: str = ""
    """The key of the compiled program: strategies with the same one have the same effect."""
    is_repeated: bool = False
    """Whether this is the outcome of an earlier strategy with the same effect."""

    @property
    def is_cheap(self) -> bool:
        """Whether nothing was measured, so that many such strategies count as one trial."""
        return self.is_repeated or self.status == "pruned"


def measure_peak(*_: Any) -> Outcome:
    """Return the seconds that an operation takes at least."""
    with _measuring_alone():
        return Outcome("measured", 1 / peak_rate())


def compile_strategy(task: Task, strategy: str, most_operations: float = math.inf) -> Outcome:
    """Apply a strategy, compile the program and store it in the kernel cache.

    A program that performs more than some number of operations is not compiled.
    """
    try:
        if most_operations < math.inf:
            lowered = _load(task.program, task.options, strategy).lower(*task.inputs)
            if reason := excess_operations(lowered, most_operations):
                return Outcome("pruned", reason=reason)
        program, _ = _prepare(task, strategy)
    except RiseError as error:
        return Outcome("inapplicable", reason=_short_reason(error))
    return Outcome("compiled", program=program)


def prepare_strategy(task: Task, strategy: str) -> Outcome:
    """Compile a strategy, check its results, and keep the program for `time_strategy`."""
    try:
        program, call = _prepare(task, strategy)
        results = flatten_results(call())
    except RiseError as error:
        return Outcome("inapplicable", reason=_short_reason(error))
    same = are_identical if task.is_exact else are_close
    if not same(results, task.expected):
        return Outcome("wrong", reason="the results differ from those of the source program")
    _prepared.setdefault(task.program, {})[strategy] = call
    return Outcome("compiled", program=program)


_prepared: dict[str, dict[str, Callable[[], Any]]] = {}
"""The programs that were prepared, by the source program and by strategy."""


def time_strategy(task: Task, strategy: str, incumbent: str | None, pace: Pace) -> Outcome:
    """Measure a strategy that was prepared alternately with the incumbent."""
    strategies = [strategy] if incumbent is None else [strategy, incumbent]
    ready = _prepared.get(task.program, {})
    calls = [ready[each] if each in ready else _prepare(task, each)[1] for each in strategies]
    actions = [_repeated_on_gpu(each) for each in calls] if task.is_on_gpu else calls
    with _measuring_alone():
        samples = _measure(actions, pace)
    repeats = GPU_CALLS if task.is_on_gpu else 1
    seconds = [pace.summarize(each) / repeats for each in samples]
    return Outcome("measured", seconds[0], seconds[1] if incumbent is not None else None)


def measure_strategy(
    task: Task, strategy: str, incumbent: str | None, pace: Pace = USUAL
) -> Outcome:
    """Check the results of a strategy, and measure it alternately with the incumbent."""
    outcome = prepare_strategy(task, strategy)
    if outcome.status == "compiled":
        outcome = time_strategy(task, strategy, incumbent, pace)
    forget_prepared()
    return outcome


def forget_prepared(*_: Any) -> Outcome:
    """Free the programs that were prepared."""
    _prepared.clear()
    return Outcome("forgotten")


def evaluate_strategy(
    task: Task,
    strategy: str,
    incumbent: str | None,
    pace: Pace = USUAL,
    most_operations: float = math.inf,
) -> Outcome:
    """Compile and measure a strategy, unless it performs too many operations."""
    outcome = compile_strategy(task, strategy, most_operations)
    if outcome.status != "compiled":
        return outcome
    return measure_strategy(task, strategy, incumbent, pace)


def _short_reason(error: RiseError) -> str:
    """Return the cause of an error, without the strategy, which the trial contains."""
    line = str(error).partition("\n")[0]
    return line.partition(" does not apply: ")[2] or line


def _prepare(task: Task, strategy: str) -> tuple[str, Callable[[], Any]]:
    """Return the key of the compiled program, and a call of it."""
    kernel = _load(task.program, task.options, strategy)
    lowered = kernel.lower(*task.inputs)
    lowered.compile()
    return lowered.key, lambda: kernel(*task.arguments)


def _repeated_on_gpu(call: Callable[[], Any]) -> Callable[[], None]:
    """Return an action that launches a program several times, and waits for the GPU once."""

    def launch_and_wait() -> None:
        for _ in range(GPU_CALLS):
            call()
        with cuda.driver().make_current():
            cuda.driver().synchronize()

    return launch_and_wait


@lru_cache(maxsize=4)
def _load(program: str, options: tuple[tuple[str, str], ...], strategy: str) -> Any:
    settings: Any = dict(options)
    return loads(program, name="program.rise", strategy=strategy, **settings).main


def _measure(calls: Sequence[Callable[[], Any]], pace: Pace) -> list[tuple[float, ...]]:
    warm = [min(seconds_per_call(call) for _ in range(pace.warm_ups)) for call in calls]
    rivals = [(call, calls_per_sample(each)) for call, each in zip(calls, warm, strict=True)]
    is_long = sum(warm) > pace.long_seconds
    if len(warm) > 1 and warm[0] > pace.hopeless_at_once * warm[1]:
        if warm[0] < INTERRUPTION_SECONDS:
            warm[0] = min(warm[0], seconds_per_call(calls[0]))
        if warm[0] > pace.hopeless_at_once * warm[1]:
            return [(each,) for each in warm]
    first = min(pace.rounds, 1 if is_long else pace.first_rounds)
    samples = time_interleaved(rivals, first)
    if len(samples) > 1 and min(samples[0]) > HOPELESS_RATIO * min(samples[1]):
        return samples
    rounds = min(pace.rounds, FIRST_ROUNDS) if is_long else pace.rounds
    more = time_interleaved(rivals, max(0, rounds - first))
    return [(*a, *b) for a, b in zip(samples, more, strict=True)]


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
