"""Compile and measure strategies: in workers on this machine, or with an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from riselang.support import config
from riselang.tuning.measurement import ROUNDS, Outcome, Task
from riselang.tuning.settings import Executor
from riselang.tuning.worker import Worker, evaluate_in_worker


class Runner:
    """Compiles and measures strategies: in workers on this machine, or with an executor."""

    def __init__(self, task: Task, limit: float, executor: Executor | None):
        self.task, self.limit, self._executor = task, limit, executor
        self._compilers = [Worker() for _ in range(config.jobs())]
        self._pool = ThreadPoolExecutor(len(self._compilers))
        self._measurer = Worker()

    @property
    def batch(self) -> int:
        """The number of strategies to run at the same time."""
        return len(self._compilers) if self._executor is None else _count_workers(self._executor)

    def run(self, strategies: Sequence[str], incumbent: str | None) -> Iterator[Outcome]:
        """Yield the outcome of each strategy."""
        if self._executor is not None:
            futures = [
                self._executor.submit(
                    evaluate_in_worker, self.task, strategy, incumbent, ROUNDS, self.limit
                )
                for strategy in strategies
            ]
            yield from (future.result() for future in futures)
            return
        pairs = zip(self._compilers, strategies, strict=False)
        compiled = self._pool.map(
            lambda pair: pair[0].run("compile", self.task, pair[1], limit=self.limit), list(pairs)
        )
        # Nothing is compiled while a strategy is measured.
        for strategy, outcome in list(zip(strategies, compiled, strict=True)):
            yield self.measure(strategy, incumbent) if outcome.status == "compiled" else outcome

    def measure(self, strategy: str, incumbent: str | None, rounds: int = ROUNDS) -> Outcome:
        arguments = (self.task, strategy, incumbent, rounds)
        return self._measurer.run("measure", *arguments, limit=self.limit)

    def close(self) -> None:
        self._pool.shutdown()
        for worker in (*self._compilers, self._measurer):
            worker.close()


def _count_workers(executor: Any) -> int:
    """Return the number of workers of an executor or of a Dask client."""
    if hasattr(executor, "ncores"):
        return max(1, len(executor.ncores()))
    return getattr(executor, "_max_workers", 1)
