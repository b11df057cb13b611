"""`rl.tune`: search for the fastest strategy of a program, by measurement."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Unpack

import numpy as np

from riselang.api.complex_arrays import view_inputs
from riselang.api.entry import loads
from riselang.api.jit import jit
from riselang.api.kernel import Kernel
from riselang.api.lowered import Lowered, resolve_strategy
from riselang.api.options import CompileOptions
from riselang.dialects.rise.types import leaves
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.rewrite.core import Strategy
from riselang.rewrite.interpreter_cost import estimate_steps
from riselang.runtime.arrays import Array
from riselang.runtime.tuning_database import BestStrategy, Database, Trial, program_key
from riselang.support import config
from riselang.support.comparison import flatten_results
from riselang.support.errors import UserError
from riselang.support.progress import progress
from riselang.support.structures import flatten
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.contraction import contract
from riselang.tuning.measurement import ROUNDS, Outcome, Task
from riselang.tuning.result import TuningResult
from riselang.tuning.search import Search, make_search
from riselang.tuning.spaces import Choices, Space, generic_space
from riselang.tuning.worker import Worker, evaluate_in_worker

DEFAULT_BUDGET = 100
LIMIT = 60.0
"""The default number of seconds to compile and measure one strategy."""
FINALISTS = 3
"""The number of strategies that are measured again at the end."""
FINAL_ROUNDS = 25
MIN_GAIN = 0.98
"""A strategy replaces the default one if it takes at most this fraction of its time."""
INTERPRETED_STEPS = 200_000
"""Programs with at most so many steps are checked against the interpreter, others against the
source program, compiled without a strategy."""
_DURATION = re.compile(r"(?P<count>\d+(\.\d+)?)\s*(?P<unit>s|m|h)")
_UNITS = {"s": 1, "m": 60, "h": 3600}


class Executor(Protocol):
    """What runs measurements elsewhere: `concurrent.futures`, or a `distributed.Client`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


@dataclass(frozen=True)
class Budget:
    """How long to search: a number of trials, or seconds."""

    trials: int | None
    seconds: float | None

    def is_spent(self, trials: int, start: float) -> bool:
        if self.trials is not None:
            return trials >= self.trials
        assert self.seconds is not None
        return time.monotonic() - start >= self.seconds


def parse_budget(budget: int | str) -> Budget:
    """Read a number of trials, or a duration such as "30s" or "5m"."""
    if isinstance(budget, str) and budget.isdecimal():
        budget = int(budget)
    if isinstance(budget, int):
        if budget < 1:
            raise UserError(f"budget must be at least 1, but is {budget}")
        return Budget(budget, None)
    match = _DURATION.fullmatch(budget)
    if match is None:
        raise UserError(
            f"budget must be a number of trials, or a duration such as '5m', but is {budget!r}"
        )
    return Budget(None, float(match["count"]) * _UNITS[match["unit"]])


@with_short_tracebacks
def tune(
    function: Callable[..., Any],
    *example: Any,
    space: Strategy | str | Space | None = None,
    where: Callable[[dict[str, Any]], bool] | None = None,
    budget: int | str = DEFAULT_BUDGET,
    search: str = "evolution",
    seed: int = 0,
    db: str | Path | None = None,
    executor: Executor | None = None,
    limit: float = LIMIT,
    starts_with_default: bool = True,
    **options: Unpack[CompileOptions],
) -> TuningResult:
    """Search for the fastest strategy of a function, by measuring it on example arguments.

    `space` is a strategy with parameters (`st.param`); by default, all numbers in the schedules
    that the default strategy chooses are parameters. `where` excludes choices of values. `budget`
    is a number of trials, or a duration such as "5m". `search` is "evolution", "random", "grid" or
    "tpe", which needs Optuna. Every strategy is compiled and measured in a worker process, which
    is ended after `limit` seconds, and its results are compared with those of the source program.

    The trials and the fastest strategy are stored in a database, `db`. Programs that are compiled
    later with the default strategy use the fastest one. With an `executor`, such as a
    `distributed.Client`, its workers compile and measure; each machine measures one strategy at a
    time.
    """
    kernel = function if isinstance(function, Kernel) and not options else jit(function, **options)
    lowered = kernel.lower(*example)
    return tune_program(
        lowered, _argument_arrays(lowered, example), space=space, where=where, budget=budget,
        search=search, seed=seed, db=db, executor=executor, limit=limit,
        starts_with_default=starts_with_default,
    )  # fmt: skip


def tune_program(
    lowered: Lowered,
    arrays: Sequence[Array],
    *,
    space: Strategy | str | Space | None = None,
    where: Callable[[dict[str, Any]], bool] | None = None,
    budget: int | str = DEFAULT_BUDGET,
    search: str = "evolution",
    seed: int = 0,
    db: str | Path | None = None,
    executor: Executor | None = None,
    limit: float = LIMIT,
    starts_with_default: bool = True,
) -> TuningResult:
    """Search for the fastest strategy of a program, as `tune` does."""
    database = Database(Path(db) if db is not None else config.tuning_database())
    limits = parse_budget(budget)
    space, start = _choose_space(lowered, space, where)
    searcher = make_search(search, space, seed)
    task = _make_task(lowered, arrays)
    key = program_key(lowered.source, lowered.options)
    database.add_program(key, task.program, lowered.options)
    runner = _Runner(task, limit, executor)
    tuning = _Tuning(space, searcher, runner, database, key)
    try:
        tuning.resume()
        with progress(f"tuning {lowered.name}", limits.trials) as steps:
            tuning.measure_default(start if starts_with_default else None)
            tuning.search_until(limits, steps.advance)
            best = tuning.choose_best()
    finally:
        runner.close()
    return TuningResult(
        replace(lowered, strategy=resolve_strategy(best.strategy)), best, tuple(tuning.trials)
    )


def _choose_space(
    lowered: Lowered,
    space: Strategy | str | Space | None,
    where: Callable[[dict[str, Any]], bool] | None,
) -> tuple[Space, Strategy | None]:
    """Return the space, and the strategy in it with which to start, if one is known."""
    if isinstance(space, Space):
        return (space if where is None else replace(space, where=where)), None
    if space is not None:
        strategy = resolve_strategy(space)
        if strategy is None:
            raise UserError("space must be a strategy with parameters, but is 'none'")
        return Space(strategy, where), None
    float = lowered.options.float
    term = lowered.source if float == "strict" else contract(lowered.source)
    generic, start = generic_space(term, float)
    return (generic if where is None else replace(generic, where=where)), start


def _argument_arrays(lowered: Lowered, example: Sequence[Any]) -> tuple[Array, ...]:
    """Return the example arguments as the arrays that the program takes."""
    values, _ = flatten(tuple(example), lambda value: not isinstance(value, tuple | list | dict))
    types = lowered.argument_types
    if len(values) != len(types):
        raise UserError(
            f"tune needs an example for each of the {len(types)} arguments of {lowered.name}, but "
            f"got {len(values)}"
        )
    arrays = [np.asarray(value) for value in values]
    return tuple(view_inputs(arrays, lowered.interface.complex_inputs))


def _make_task(lowered: Lowered, arrays: Sequence[Array]) -> Task:
    """Return the program and its inputs, with the results of the source program."""
    inputs: list[Array] = []
    for type, array in zip(
        lowered.parameter_types, (*arrays, *lowered.interface.captured), strict=True
    ):
        parts = list(leaves(type))
        if len(parts) != 1:
            raise UserError(
                f"tune supports arrays of scalars as arguments, but {lowered.name} takes pairs"
            )
        inputs.append(np.ascontiguousarray(array, numpy_dtype(parts[0][1])))
    options = lowered.options
    settings = (
        ("float", options.float), ("loops", options.loops), ("library", options.library),
        ("effort", options.effort),
    )  # fmt: skip
    program = repr(lowered.source)
    plain: Any = loads(program, name="program.rise", strategy="none", **dict(settings)).main  # type: ignore
    if estimate_steps(lowered.source) <= INTERPRETED_STEPS:
        plain = plain.interpreted()
    expected = tuple(array.copy() for array in flatten_results(plain(*inputs)))
    return Task(program, settings, tuple(inputs), expected)


class _Runner:
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


class _Tuning:
    """The state of a search: the trials so far, and the fastest strategy."""

    def __init__(self, space: Space, search: Search, runner: _Runner, database: Database, key: str):
        self.space, self.search, self.runner = space, search, runner
        self.database, self.key = database, key
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.default_seconds = 0.0

    def resume(self) -> None:
        """Tell the search the trials of earlier runs with the same parameters."""
        for trial in self.database.trials(self.key):
            if self._is_in_space(trial.choices) and trial.status != "timeout":
                self.search.tell(trial.choices, trial.seconds)
                self._remember(trial)

    def _is_in_space(self, choices: Choices) -> bool:
        parameters = self.space.parameters
        return choices.keys() == parameters.keys() and all(
            value in parameters[name] for name, value in choices.items()
        )

    def measure_default(self, start: Strategy | None) -> None:
        """Measure the default strategy, which is the first incumbent."""
        outcome = self.runner.measure("default", None)
        if outcome.seconds is None:
            raise UserError(f"the program cannot be measured: {outcome.reason}")
        self.default_seconds = outcome.seconds
        if self.best is None or outcome.seconds < (self.best.seconds or 0.0):
            strategy = "default" if start is None else str(start)
            self.best = Trial(strategy, {}, "measured", outcome.seconds)

    def search_until(self, budget: Budget, after_trial: Callable[[str], None]) -> None:
        """Try strategies until the budget is spent or all have been tried."""
        start, count = time.monotonic(), 0
        while not budget.is_spent(count, start):
            assert self.best is not None
            size = self.runner.batch
            if budget.trials is not None:
                size = min(size, budget.trials - count)
            batch = self._next_batch(size)
            if not batch:
                return
            strategies = [str(self.space.strategy_for(choices)) for choices in batch]
            outcomes = self.runner.run(strategies, self.best.strategy)
            for choices, strategy, outcome in zip(batch, strategies, outcomes, strict=True):
                self._add(choices, strategy, outcome)
                count += 1
                after_trial(f"tuning, {self._gain():.2f} times the default's speed")

    def _next_batch(self, size: int) -> list[Choices]:
        batch: list[Choices] = []
        for _ in range(size):
            choices = self.search.ask()
            if choices is None or choices in batch:
                break
            batch.append(choices)
        return batch

    def _add(self, choices: Choices, strategy: str, outcome: Outcome) -> None:
        trial = Trial(strategy, choices, outcome.status, outcome.seconds, outcome.reason)
        self.search.tell(choices, outcome.seconds)
        self.database.add_trial(self.key, trial)
        incumbent_seconds = outcome.incumbent_seconds or math.inf
        self._remember(trial, is_faster=(outcome.seconds or math.inf) < incumbent_seconds)

    def _remember(self, trial: Trial, is_faster: bool = True) -> None:
        self.trials.append(trial)
        best = math.inf if self.best is None else self.best.seconds or math.inf
        if is_faster and trial.seconds is not None and trial.seconds < best:
            self.best = trial

    def _gain(self) -> float:
        assert self.best is not None
        return self.default_seconds / (self.best.seconds or self.default_seconds)

    def choose_best(self) -> BestStrategy:
        """Measure the fastest strategies again next to the default one, and store the best."""
        measured = [trial for trial in self.trials if trial.seconds is not None]
        finalists = sorted(measured, key=lambda trial: trial.seconds or 0.0)[:FINALISTS]
        best, best_ratio = "default", MIN_GAIN
        default_seconds = self.default_seconds
        for trial in finalists:
            outcome = self.runner.measure(trial.strategy, "default", FINAL_ROUNDS)
            if outcome.seconds is None or outcome.incumbent_seconds is None:
                continue
            ratio = outcome.seconds / outcome.incumbent_seconds
            default_seconds = min(default_seconds, outcome.incumbent_seconds)
            if ratio < best_ratio:
                best, best_ratio = trial.strategy, ratio
        ratio = 1.0 if best == "default" else best_ratio
        result = BestStrategy(best, default_seconds * ratio, default_seconds)
        self.database.set_best(self.key, result)
        return result
