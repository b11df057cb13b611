"""`rl.tune`: search for the fastest strategy of a program, by measurement."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

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
from riselang.support.comparison import flatten_results
from riselang.support.errors import UserError
from riselang.support.progress import progress
from riselang.support.structures import flatten
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.contraction import contract
from riselang.tuning.generic_spaces import generic_space
from riselang.tuning.measurement import Outcome, Pace, Task
from riselang.tuning.result import TuningResult
from riselang.tuning.runner import Request, Runner
from riselang.tuning.search import Search, make_search
from riselang.tuning.settings import (
    DEFAULT_BUDGET,
    LIMIT,
    REPEATED_TRIALS,
    Budget,
    SearchSettings,
    parse_budget,
)
from riselang.tuning.spaces import Choices, Space

FINALISTS = 3
"""The number of strategies that are measured again at the end."""
FINAL_ROUNDS = 25
MIN_GAIN = 0.98
"""A strategy replaces the default one if it takes at most this fraction of its time."""
INTERPRETED_STEPS = 200_000
"""Programs with at most so many steps are checked against the interpreter, others against the
source program, compiled without a strategy; programs for a GPU against the CPU."""


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
    executor: Any | None = None,
    limit: float = LIMIT,
    **options: Unpack[CompileOptions],
) -> TuningResult:
    """Search for the fastest strategy of a function, by measuring it on example arguments.

    `space` is a strategy with parameters (`st.param`); by default, all numbers in the schedules
    that the default strategy chooses are parameters. `where` excludes choices of values. `budget`
    is a number of trials, or a duration such as "5m". `search` is "evolution", "random", "grid" or
    "tpe", which needs Optuna. Every strategy is compiled and measured in a worker process, which
    is ended after `limit` seconds, and its results are compared with those of the source program.

    The trials and the fastest strategy are stored in a database, `db`. Programs that are compiled
    later with the default strategy use the fastest one. The workers of an `executor` compile and
    measure: one of `concurrent.futures`, a `distributed.Client`, or the module `ray`. Each machine
    measures one strategy at a time.
    """
    kernel = function if isinstance(function, Kernel) and not options else jit(function, **options)
    lowered = kernel.lower(*example)
    settings = SearchSettings(space, where, budget, search, seed, db, executor, limit)
    return tune_program(lowered, _argument_arrays(lowered, example), settings)


def tune_program(
    lowered: Lowered, arrays: Sequence[Array], settings: SearchSettings
) -> TuningResult:
    """Search for the fastest strategy of a program, as `tune` does."""
    database = Database(settings.database_path)
    budget = parse_budget(settings.budget)
    space, start = _choose_space(lowered, settings)
    search = make_search(settings.search, space, settings.seed, start)
    task = make_task(lowered, arrays)
    key = program_key(lowered.source, lowered.options)
    database.add_program(key, task.program, lowered.options)
    runner = Runner(task, settings.limit, settings.executor)
    tuning = _Tuning(space, search, runner, database, key)
    try:
        tuning.resume()
        with progress(f"tuning {lowered.name}", budget.trials) as steps:
            tuning.measure_default()
            tuning.search_until(budget, steps.advance)
            best = tuning.choose_best()
    finally:
        runner.close()
    return TuningResult(
        replace(lowered, strategy=resolve_strategy(best.strategy)), best, tuple(tuning.trials)
    )


def _choose_space(lowered: Lowered, settings: SearchSettings) -> tuple[Space, Choices | None]:
    """Return the space, and the choices in it that the default strategy makes, if it has them."""
    space, where = settings.space, settings.where
    if isinstance(space, Space):
        return (space if where is None else replace(space, where=where)), None
    if space is not None:
        strategy = resolve_strategy(space)
        if strategy is None:
            raise UserError("space must be a strategy with parameters, but is 'none'")
        return Space(strategy, where), None
    float = lowered.options.float
    term = lowered.source if float == "strict" else contract(lowered.source)
    generic, start = generic_space(term, float, lowered.options.loops)
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


def make_task(lowered: Lowered, arrays: Sequence[Array]) -> Task:
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
    # One thread of a GPU would take too long.
    is_on_gpu = options.loops == "gpu"
    on_cpu = {"loops": "affine"} if is_on_gpu else {}
    strategy = "default" if is_on_gpu else "none"
    compile_options: Any = {**dict(settings), **on_cpu, "strategy": strategy}
    plain: Any = loads(program, name="program.rise", **compile_options).main
    if estimate_steps(lowered.source) <= INTERPRETED_STEPS:
        plain = plain.interpreted()
    expected = tuple(array.copy() for array in flatten_results(plain(*inputs)))
    return Task(program, settings, tuple(inputs), expected)


class _Tuning:
    """The state of a search: the trials so far, and the fastest strategy."""

    def __init__(self, space: Space, search: Search, runner: Runner, database: Database, key: str):
        self.space, self.search, self.runner = space, search, runner
        self.database, self.key = database, key
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.default_seconds = 0.0
        self.peak_rate = math.inf
        """The operations per second that no strategy exceeds."""
        self.pruned = 0
        self.running, self.measured, self.repeated = 0, 0, 0
        """The numbers of trials: those that have not finished, and of the others, those that were
        measured, and those that were pruned or whose compiled program was measured before."""
        self.is_exhausted = False

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

    def measure_default(self) -> None:
        """Measure the default strategy, which is the first incumbent."""
        outcome = self.runner.measure("default", None)
        if outcome.seconds is None:
            raise UserError(f"the program cannot be measured: {outcome.reason}")
        self.default_seconds = outcome.seconds
        self.peak_rate = self.runner.peak_rate()
        if self.best is None or outcome.seconds < (self.best.seconds or 0.0):
            self.best = Trial("default", {}, "measured", outcome.seconds)

    def search_until(self, budget: Budget, after_trial: Callable[[str], None]) -> None:
        """Try strategies until the budget is spent or all have been tried."""
        start = time.monotonic()
        # A trial that is pruned or repeated does not use the budget, so others follow.
        while not self.is_exhausted and not budget.is_spent(self._spent(), start):
            for request, outcome in self.runner.run(self._requests(budget, start)):
                self._add(request.choices, request.strategy, outcome)
                if not outcome.is_cheap:
                    after_trial(self._describe_progress())

    def _spent(self) -> int:
        return self.running + self.measured + self.repeated // REPEATED_TRIALS

    def _requests(self, budget: Budget, start: float) -> Iterator[Request]:
        """Yield the strategies to try, each chosen with the outcomes before it."""
        while not budget.is_spent(self._spent(), start):
            choices = self.search.ask()
            if choices is None:
                self.is_exhausted = True
                return
            assert self.best is not None
            self.running += 1
            seconds = self.best.seconds or math.inf
            strategy = str(self.space.strategy_for(choices))
            yield Request(choices, strategy, self.best.strategy, seconds * self.peak_rate)

    def _add(self, choices: Choices, strategy: str, outcome: Outcome) -> None:
        self.running -= 1
        self.repeated += outcome.is_cheap
        self.measured += not outcome.is_cheap
        self.pruned += outcome.status == "pruned"
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

    def _describe_progress(self) -> str:
        pruned = f", {self.pruned} pruned" if self.pruned else ""
        return f"tuning, {self._gain():.2f} times the default's speed{pruned}"

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
            outcome = self.runner.measure(trial.strategy, "default", Pace(FINAL_ROUNDS))
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
