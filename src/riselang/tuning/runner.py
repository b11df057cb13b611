"""Compile and measure strategies: in workers on this machine, or with an executor."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from riselang.support import config
from riselang.support.cores import separate_cpus
from riselang.support.errors import UserError
from riselang.tuning.executors import Workers, connect, outcome_of
from riselang.tuning.measurement import USUAL, Outcome, Pace, Task
from riselang.tuning.spaces import Choices
from riselang.tuning.worker import Worker, evaluate_in_worker

POLL_SECONDS = 1.0
"""How often a search looks whether a cluster still has workers."""


@dataclass(frozen=True, eq=False)
class Request:
    """A strategy to measure alternately with the fastest one so far, the incumbent."""

    choices: Choices
    strategy: str
    incumbent: str | None
    most_operations: float = math.inf
    """The strategy is not compiled if it performs more operations: it cannot be faster."""


class Runner:
    """Compiles and measures strategies: in workers on this machine, or with an executor."""

    def __init__(self, task: Task, limit: float, executor: Any | None):
        self.task, self.limit = task, limit
        self._shapes = task.without_values()
        self._workers = None if executor is None else connect(executor)
        self._compilers = [Worker() for _ in range(config.jobs())]
        self._pool = ThreadPoolExecutor(len(self._compilers))
        self._measurer = Worker(_measuring_cpu())
        self._measured: dict[str, Outcome] = {}
        """The outcomes by the key of the compiled program."""

    def run(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Outcome]]:
        """Yield the outcome of each request, in the order in which they finish; the next request
        is made when it can be started, so that it knows the outcomes before it."""
        if self._workers is None:
            return self._run_here(requests)
        return self._run_with(self._workers, requests)

    def _run_here(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Outcome]]:
        while batch := list(islice(requests, len(self._compilers))):
            compiled = self._pool.map(self._compile, self._compilers, batch)
            # Nothing is compiled while a strategy is measured.
            for request, outcome in list(zip(batch, compiled, strict=True)):
                yield request, self._measure_once(request, outcome)

    def _measure_once(self, request: Request, compiled: Outcome) -> Outcome:
        """Measure a compiled strategy, unless one with the same effect was measured before."""
        if compiled.status != "compiled":
            return compiled
        known = self._measured.get(compiled.program)
        if known is not None:
            return replace(known, is_repeated=True)
        outcome = self.measure(request.strategy, request.incumbent)
        self._measured[compiled.program] = outcome
        return outcome

    def _compile(self, worker: Worker, request: Request) -> Outcome:
        arguments = (self._shapes, request.strategy, request.most_operations)
        return worker.run("compile", *arguments, limit=self.limit)

    def _run_with(
        self, workers: Workers, requests: Iterator[Request]
    ) -> Iterator[tuple[Request, Outcome]]:
        running: dict[Future[Any], Request] = {}
        latest_worker = time.monotonic()
        try:
            while True:
                count = workers.count()
                for request in islice(requests, max(0, count - len(running))):
                    arguments = (
                        request.strategy, request.incumbent, USUAL, request.most_operations,
                        self.limit,
                    )  # fmt: skip
                    future = workers.submit(evaluate_in_worker, self.task, *arguments)
                    running[future] = request
                if not running and count:
                    return
                latest_worker = time.monotonic() if count else latest_worker
                self._check_workers(time.monotonic() - latest_worker)
                yield from _take_finished(running)
        finally:
            for future in running:
                future.cancel()

    def _check_workers(self, seconds_without: float) -> None:
        """A call whose worker is lost runs again on another one, unless none is left."""
        if seconds_without > self.limit:
            raise UserError(
                f"the executor has had no worker for {seconds_without:.0f} s; start workers and "
                "tune again: the trials so far are stored"
            )

    def measure(self, strategy: str, incumbent: str | None, pace: Pace = USUAL) -> Outcome:
        arguments = (self.task, strategy, incumbent, pace)
        return self._measurer.run("measure", *arguments, limit=self.limit)

    def peak_rate(self) -> float:
        """Return how many operations per second no program exceeds; infinite if not known."""
        if self.task.is_on_gpu:
            return math.inf
        outcome = self._measurer.run("peak", self._shapes, limit=self.limit)
        return math.inf if outcome.seconds is None else 1 / outcome.seconds

    def close(self) -> None:
        self._pool.shutdown()
        for worker in (*self._compilers, self._measurer):
            worker.close()


def _measuring_cpu() -> int | None:
    """Return the CPU on which programs with one thread are measured: the last one, since systems
    tend to handle interrupts on the first."""
    cpus = separate_cpus()
    return cpus[-1] if cpus and config.num_threads() == 1 else None


def _take_finished(running: dict[Future[Any], Request]) -> Iterator[tuple[Request, Outcome]]:
    """Wait a while for calls, and yield the outcomes of those that have finished."""
    if not running:
        time.sleep(POLL_SECONDS)
        return
    finished, _ = wait(running, POLL_SECONDS, FIRST_COMPLETED)
    for future in finished:
        yield running.pop(future), outcome_of(future)
