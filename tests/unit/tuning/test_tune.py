"""Search for strategies: spaces, search algorithms, workers, the database, and its use."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.rewrite.core import Setting
from riselang.rewrite.default import default_derivation
from riselang.rewrite.derivation import derive
from riselang.runtime.tuning_database import BestStrategy, Database, Trial, program_key
from riselang.support.errors import UserError
from riselang.term.contraction import contract
from riselang.tuning.generic_spaces import generic_space
from riselang.tuning.measurement import Pace, Task
from riselang.tuning.search import SEARCHES, make_search
from riselang.tuning.settings import parse_budget
from riselang.tuning.spaces import Space
from riselang.tuning.worker import Worker

ROWS = st.tile(st.param("a", [1, 2, 3, 4, 5, 6]), st.param("b", [1, 2, 4, 8]))
SCALE = "fun((x : 64.f32), x |> map(fun(a, a * 2.0)))"
PRODUCT = """fun((A : 64.96.f32, B : 96.64.f32), A |> map(fun(row, B |> transpose |> map(
  fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
SPLIT = st.split(st.param("size", [2, 3, 8])) @ st.outermost("map")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setenv("RISE_TUNING_DATABASE", str(path))
    return Database(path)


def scale(text: str = SCALE) -> Any:
    program: Any = rl.loads(text, name="scale.rise", strategy="default")
    return program.main


# Search


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_the_best_of_24_choices_and_repeats_none(name: str) -> None:
    if name == "tpe":
        pytest.importorskip("optuna")
    search = make_search(name, Space(ROWS), 1)
    seen: list[tuple[Any, ...]] = []
    while (choices := search.ask()) is not None:
        seen.append(search.space.key(choices))
        a, b = int(choices["a"]), int(choices["b"])
        search.tell(choices, None if a == 3 else 1e-3 * (1 + (a - 4) ** 2 + (b - 2) ** 2))
    assert len(seen) == len(set(seen)) == 24
    assert min(search.times, key=lambda key: search.times[key]) == (4, 2)


@pytest.mark.nightly
def test_evolution_needs_fewer_trials_than_random_search() -> None:
    values = list(range(1, 21))
    space = Space(
        st.tile(st.param("a", values), st.param("b", values))
        >> st.tile(st.param("c", values), st.param("d", values))
    )

    def best_of_100(name: str, seed: int) -> float:
        search = make_search(name, space, seed)
        for _ in range(100):
            choices = search.ask()
            assert choices is not None
            search.tell(choices, sum((int(value) - 7) ** 2 for value in choices.values()) + 1.0)
        return min(search.times.values())

    totals = {name: sum(best_of_100(name, seed) for seed in range(5)) for name in SEARCHES}
    assert totals["evolution"] < totals["random"]
    assert totals["tpe"] < totals["random"]


@pytest.mark.parametrize("name", SEARCHES)
def test_the_first_trial_is_the_start_unless_it_is_known_or_excluded(name: str) -> None:
    if name == "tpe":
        pytest.importorskip("optuna")
    start = {"a": 5, "b": 4}
    search = make_search(name, Space(ROWS), 1, start)
    assert search.ask() == start
    search.tell(start, 1.0)
    assert search.ask() != start
    excluded = make_search(name, Space(ROWS, lambda p: p["a"] < 5), 1, start)
    assert excluded.ask() != start
    resumed = make_search(name, Space(ROWS), 1, start)
    resumed.tell(start, 1.0)
    assert resumed.ask() != start


def test_constraints_exclude_choices() -> None:
    search = make_search("grid", Space(ROWS, lambda p: p["a"] == p["b"]), 0)
    choices: list[Any] = []
    while (next_choices := search.ask()) is not None:
        choices.append((next_choices["a"], next_choices["b"]))
        search.tell(next_choices, 1.0)
    assert choices == [(1, 1), (2, 2), (4, 4)]


def test_the_generic_space_contains_what_the_default_strategy_does() -> None:
    program: Any = rl.loads(PRODUCT, name="mm.rise")
    term = contract(program.main.trace().term)
    space, start = generic_space(term, "contract")
    default = default_derivation(term, Setting())
    assert default is not None
    assert derive(term, space.strategy_for(start)).end == default.end
    assert space.size > 1000


def test_a_program_without_computations_has_no_generic_space() -> None:
    with pytest.raises(UserError, match="recognizes no computation"):
        generic_space(scale().trace().term, "contract")


# Workers


def make_task(strategy_inputs: int = 64) -> Task:
    x = np.arange(strategy_inputs, dtype=np.float32)
    options = (("float", "contract"), ("loops", "affine"))
    return Task(SCALE, options, (x,), (2 * x,))


@pytest.mark.rotating(3)
def test_a_worker_compiles_checks_and_measures() -> None:
    worker = Worker()
    try:
        task = make_task()
        split = "split({}) @ outermost('map')"
        measured = worker.run("evaluate", task, split.format(8), None, Pace(3), limit=60.0)
        assert measured.status == "measured"
        assert measured.seconds is not None
        refused = worker.run("evaluate", task, split.format(5), None, Pace(3), limit=60.0)
        assert refused.status == "inapplicable"
        assert "64 is not a multiple of 5" in refused.reason
        wrong = Task(task.program, task.options, task.inputs, (task.inputs[0],))
        outcome = worker.run("evaluate", wrong, split.format(8), None, Pace(3), limit=60.0)
        assert outcome.status == "wrong"
        late = worker.run("evaluate", task, split.format(4), None, Pace(3), limit=0.0)
        assert late.status == "timeout"
        again = worker.run("evaluate", task, split.format(8), split.format(4), Pace(3), limit=60.0)
        assert again.incumbent_seconds is not None, "a killed worker is replaced"
        process = worker._started()
        process.kill()
        process.wait()
        assert worker.run("compile", task, "none", limit=60.0).status == "compiled"
    finally:
        worker.close()


# Tuning


@pytest.mark.rotating(3)
def test_tuning_stores_trials_and_continues_where_it_stopped(database: Database) -> None:
    x = np.ones(64, np.float32)
    program = scale()
    first = rl.tune(program, x, space=SPLIT, budget=2, search="grid")
    assert [trial.status for trial in first.trials] == ["measured", "inapplicable"]
    second = rl.tune(program, x, space=SPLIT, budget=5, search="grid")
    assert [trial.choices["size"] for trial in second.trials] == [2, 3, 8]
    assert np.array_equal(second(x), 2 * x)
    assert len(second.curve()) == 3
    assert second.failures().total() == 1
    key = program_key(program.lower(x).source, program.lower(x).options)
    assert len(database.trials(key)) == 3
    assert database.best(key) is not None


@pytest.mark.rotating(6)
def test_strategies_with_the_same_effect_are_measured_once(database: Database) -> None:
    x = np.ones(64, np.float32)
    unused = st.split(st.param("unused", list(range(1, 13)))) @ st.outermost("zip")
    space = unused | st.split(8) @ st.outermost("map")
    result = rl.tune(scale(), x, space=space, budget=2, search="grid")
    # The first trial, and 10 with the same program, which count as one.
    assert len(result.trials) == 11
    assert len({trial.seconds for trial in result.trials}) == 1


@pytest.mark.rotating(3)
def test_the_first_trial_in_a_generic_space_is_the_default_strategy(database: Database) -> None:
    program: Any = rl.loads(PRODUCT, name="mm.rise")
    a, b = np.ones((64, 96), np.float32), np.ones((96, 64), np.float32)
    result = rl.tune(program.main, a, b, budget=1)
    _, start = generic_space(contract(program.main.trace().term), "contract")
    assert [trial.choices for trial in result.trials] == [start]


@pytest.mark.nightly
def test_trials_may_run_in_an_executor(database: Database) -> None:
    x = np.ones(64, np.float32)
    with ThreadPoolExecutor(1) as executor:
        result = rl.tune(scale(), x, space=SPLIT, budget=2, executor=executor)
    assert len(result.trials) == 2


# The database


def test_the_default_strategy_uses_the_stored_one(database: Database) -> None:
    program = scale()
    lowered = program.lower()
    default_key = lowered.key
    strategy = "split(8) @ outermost('map')"
    key = program_key(lowered.source, lowered.options)
    database.set_best(key, BestStrategy(strategy, 1.0, 2.0))
    tuned = scale().lower()
    assert "split(8)" in tuned.as_text("notation")
    assert "split" in tuned.explain()
    assert tuned.key != default_key
    x = np.arange(64, dtype=np.float32)
    assert np.array_equal(tuned.compile()(x), 2 * x)
    assert "split" not in scale(SCALE.replace("64", "96")).lower().as_text("notation")


def test_a_stored_strategy_that_does_not_apply_is_ignored(database: Database) -> None:
    lowered = scale().lower()
    key = program_key(lowered.source, lowered.options)
    database.set_best(key, BestStrategy("split(7) @ outermost('map')", 1.0, 2.0))
    assert "split" not in scale().lower().as_text("notation")


def test_tuned_needs_an_entry(database: Database) -> None:
    program: Any = rl.loads(SCALE, name="scale.rise", strategy="tuned")
    with pytest.raises(UserError, match="needs an entry in the tuning database"):
        program.main.lower().as_text("notation")


def test_trials_are_kept_in_order(database: Database) -> None:
    trials = [Trial(f"split({n})", {"n": n}, "measured", 1.0 / n) for n in (2, 3, 4)]
    for trial in trials:
        database.add_trial("key", trial)
    assert database.trials("key") == trials
    assert database.trials("another") == []


def test_a_broken_database_is_reported(database: Database) -> None:
    database.path.write_text("this is not SQLite")
    with pytest.raises(UserError, match=r"the tuning database .* cannot be used"):
        scale().lower().as_text("notation")


# Options


@pytest.mark.parametrize(
    ("text", "trials", "seconds"),
    [(3, 3, None), ("12", 12, None), ("5m", None, 300.0), ("1.5h", None, 5400.0), ("2 s", None, 2)],
)
def test_budgets(text: int | str, trials: int | None, seconds: float | None) -> None:
    budget = parse_budget(text)
    assert (budget.trials, budget.seconds) == (trials, seconds)


@pytest.mark.parametrize("text", [0, "x", "5 days"])
def test_bad_budgets(text: int | str) -> None:
    with pytest.raises(UserError, match="budget must be"):
        parse_budget(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "magic"}, "search must be one of evolution, random, grid, tpe"),
        ({"space": st.split(4)}, "has no parameters to search"),
        ({"space": "none"}, "space must be a strategy with parameters"),
    ],
)
def test_bad_options(database: Database, options: Any, message: str) -> None:
    arguments: Any = {"space": SPLIT, **options}
    with pytest.raises(UserError, match=message):
        rl.tune(scale(), np.ones(64, np.float32), **arguments)


def test_the_number_of_examples_is_checked(database: Database) -> None:
    with pytest.raises(UserError):
        rl.tune(scale(), np.ones(64, np.float32), np.ones(64, np.float32), space=SPLIT)


def test_infinite_times_are_not_best() -> None:
    search = make_search("evolution", Space(ROWS), 0)
    for _ in range(24):
        choices = search.ask()
        assert choices is not None
        search.tell(choices, None)
    assert all(map(math.isinf, search.times.values()))
