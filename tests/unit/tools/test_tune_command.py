"""`rise tune` as a user runs it: the page of the trials, and the strategy as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.lowered import resolve_strategy
from riselang.runtime.tuning_database import BestStrategy, Database, Trial, program_key
from riselang.support.errors import UserError
from riselang.tools import rise
from riselang.tuning.result import TuningResult
from support.tool_runs import called

SCALE = "def scale = fun((x : N.f32), x |> map(fun(a, a * 2.0)))\n"
SPLIT = "split({}) @ outermost('map')"
LONG = " >> ".join([SPLIT.format(8), *["simplify()"] * 10])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.rise").write_text(SCALE)
    monkeypatch.setenv("RISE_TUNING_DATABASE", str(tmp_path / "tuning.sqlite"))
    return tmp_path


def rise_command(*arguments: str) -> None:
    assert called(rise.main, arguments).errors == ""


def result_with(strategy: str) -> TuningResult:
    program: Any = rl.load("scale.rise", strategy=strategy)
    trials = (Trial(strategy, {"size": 8}, "measured", 1e-6),)
    return TuningResult(program.scale.lower(N=64), BestStrategy(strategy, 1e-6, 2e-6), trials)


@pytest.mark.rotating(6)
def test_a_search_writes_a_page_and_a_strategy_that_are_read_again(folder: Path) -> None:
    rise_command(
        "tune", "scale.rise", "--size", "N=64", "--budget", "2", "--search", "grid", "--space",
        "split(param('size', [5, 8])) @ outermost('map')", "--page", "tuned.html",
        "--export", "fast.strategy", "--save", "fast.json",
    )  # fmt: skip
    page = (folder / "tuned.html").read_text()
    assert "64 is not a multiple of 5" in page
    assert "2 trials, of which 1 measured" in page
    assert resolve_strategy("fast.strategy") is not None
    assert (folder / "fast.json").exists()
    rise_command("explore", "scale.rise", "--size", "N=64", "--tuning", "-o", "again.html")
    assert "64 is not a multiple of 5" in (folder / "again.html").read_text()


@pytest.mark.parametrize("text", [SPLIT.format(8), LONG, "default"])
def test_an_exported_strategy_is_read_by_all_that_take_one(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    result = result_with(text)
    result.export("fast.strategy")
    exported = (folder / "fast.strategy").read_text()
    assert exported.startswith("# The fastest strategy found for scale, with arguments 64.f32:\n")
    assert "# 0.001 ms, 2.00 times the speed of the default strategy, after 1 trial.\n" in exported
    assert resolve_strategy("fast.strategy") == result.strategy
    program: Any = rl.load("scale.rise", strategy="fast.strategy")
    assert program.scale.lower(N=64).rewritten == result.program.rewritten
    x = np.arange(64, dtype=np.float32)
    assert np.array_equal(program.scale(x), 2 * x)
    rise.main(["show", "scale.rise", "--size", "N=64", "--strategy", "fast.strategy"])
    assert "map" in capsys.readouterr().out


def test_a_strategy_is_exported_to_a_strategy_file(folder: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.strategy"):
        result_with(SPLIT.format(8)).export("fast.txt")
    with pytest.raises(SystemExit):
        rise.main(["tune", "scale.rise", "--size", "N=64", "--export", "fast.txt"])
    assert not (folder / "tuning.sqlite").exists(), "it is refused before the search"


def test_explore_shows_the_trials_in_a_database(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explore", "scale.rise", "--size", "N=64", "--tuning", "--db", "own.sqlite"]
    with pytest.raises(SystemExit):
        rise.main(arguments)
    assert "the tuning database own.sqlite has no trials" in capsys.readouterr().err
    result = result_with(SPLIT.format(8))
    key = program_key(result.program.source, result.program.options)
    database = Database(folder / "own.sqlite")
    for trial in result.trials:
        database.add_trial(key, trial)
    database.set_best(key, result.best)
    rise_command(*arguments)
    page = (folder / "scale.html").read_text()
    assert "1 trial, of which 1 measured" in page
    with pytest.raises(SystemExit):
        rise.main([*arguments, "--default"])
    assert "pass it without --strategy and --default" in capsys.readouterr().err
