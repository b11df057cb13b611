"""Strategies that perform too many operations are not compiled, and no others are left out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.lowering.least_operations import least_operations
from riselang.rewrite.strategy_text import parse_strategy
from riselang.runtime.tuning_database import Database, program_key
from riselang.tuning.measurement import Task, compile_strategy
from riselang.tuning.pruning import peak_rate
from riselang.tuning.runner import Runner

SQUARES = "a |> iterateSeq(40, fun(v, v * a))"


def windows(size: int) -> str:
    return (
        f"fun((x : {4096 + size - 1}.f32), x |> map(fun(a, {SQUARES}))"
        f" |> slide({size}, 1) |> map(reduce(add, 0.0)))"
    )


def least(text: str, strategy: str = "none") -> int:
    program: Any = rl.loads(text, name="least.rise", strategy=strategy)
    lowered = program.main.lower()
    return least_operations(lowered.compilation.loops, lowered.name)


def test_operations_in_loops_are_counted_by_their_lanes_and_types() -> None:
    text = "fun((x : 1000.{0}, y : {0}), x |> map(fun(a, a * y + a)))"
    assert least(text.format("f32")) == 2000
    assert least(text.format("f64")) == 4000
    assert least(text.format("i32")) == 0, "instructions for integers may perform more operations"
    vectors = "split(8) @ outermost('map') >> vectorize(8) @ innermost('map')"
    assert least("fun((x : 1024.f32), x |> map(fun(a, a * a)))", f"try({vectors})") == 1024


def test_what_a_loop_does_not_change_counts_once() -> None:
    text = "fun((x : 1000.f32, y : f32), x |> map(fun(a, a * (y * y))))"
    assert least(text) == 1001


def test_windows_that_unrolled_loops_share_count_once() -> None:
    shared = least(windows(3), "top_down(slide_before_map)")
    assert shared <= least(windows(3), "none") + 100
    again = least(windows(400), "top_down(slide_before_map)")
    assert again > 300 * 40 * 4096, "no unrolled loop holds so many elements"


def test_unknown_lengths_have_no_bound() -> None:
    program: Any = rl.loads("fun((x : N.f32), x |> map(fun(a, a * a)))", name="n.rise")
    lowered = program.main.lower()
    assert least_operations(lowered.compilation.loops, lowered.name) == 0


def test_a_strategy_with_too_many_operations_is_not_compiled() -> None:
    x = np.ones(4495, np.float32)
    options = (("float", "contract"), ("loops", "affine"))
    task = Task(windows(400), options, (x,), ())
    pruned = compile_strategy(task, "top_down(slide_before_map)", 1e7)
    assert pruned.status == "pruned"
    assert "operations" in pruned.reason
    assert compile_strategy(task, "none", 1e7).status == "compiled"


def test_the_peak_exceeds_what_a_program_reaches() -> None:
    assert 1e8 < peak_rate() < math.inf


@pytest.mark.nightly
def test_tuning_records_what_is_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The rate of a slow machine, so that the outcome does not depend on the number of cores.
    monkeypatch.setattr(Runner, "peak_rate", lambda _: 1e10)
    x = np.ones(4495, np.float32)
    program: Any = rl.loads(windows(400), name="windows.rise", strategy="default")
    rule = "top_down(slide_before_map)"
    choice = parse_strategy(f"alternatives('where', id, {rule})")
    path = tmp_path / "tuning.sqlite"
    result = rl.tune(program.main, x, space=choice, budget=2, search="grid", db=path)
    assert [trial.status for trial in result.trials] == ["measured", "pruned"]
    assert "1 measured and 1 pruned" in repr(result)
    lowered = program.main.lower(x)
    trials = Database(path).trials(program_key(lowered.source, lowered.options))
    assert [trial.status for trial in trials] == ["measured", "pruned"]
