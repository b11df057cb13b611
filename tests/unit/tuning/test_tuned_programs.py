"""What a search finds is used by later processes, without a search or a change of the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from riselang.runtime.tuning_database import BestStrategy, Database

PROGRAM = """
import json, sys
import numpy as np
import riselang as rl

PRODUCT = '''fun((A : 64.96.f32, B : 96.64.f32), A |> map(fun(row, B |> transpose |> map(
  fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))'''
main = rl.loads(PRODUCT, name="product.rise").main
a = (np.arange(64 * 96) % 7).astype(np.float32).reshape(64, 96)
b = a.reshape(96, 64)
"""
TUNE = """
from riselang.runtime.tuning_database import program_key

space = "tile(param('rows', [8, 16]), param('columns', [16, 32])) @ outermost('map', nest=2)"
result = rl.tune(main, a, b, space=space, search="grid", budget={budget})
lowered = main.lower(a, b)
key = program_key(lowered.source, lowered.options)
print(json.dumps([key, [list(trial.choices.values()) for trial in result.trials]]))
"""
USE = """
is_right = bool(np.array_equal(main(a, b), a @ b))
notation = main.lower(a, b).as_text("notation")
searching = [name for name in sys.modules if name.startswith(("riselang.tuning", "optuna"))]
print(json.dumps([is_right, notation, searching]))
"""


def run(code: str, folder: Path) -> Any:
    """Run a program in a process of its own, and return what it prints."""
    settings = {
        "RISE_TUNING_DATABASE": str(folder / "tuning.sqlite"), "RISE_CACHE_DIR": str(folder),
        "RISE_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code], capture_output=True, text=True, check=False,
        env={**os.environ, **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def notation_of(strategy: str) -> str:
    scope: dict[str, Any] = {}
    exec(PROGRAM, scope)
    main = scope["rl"].loads(scope["PRODUCT"], name="product.rise", strategy=strategy).main
    notation: str = main.lower(scope["a"], scope["b"]).as_text("notation")
    return notation


@pytest.mark.rotating(8)
def test_a_program_that_was_tuned_twice_uses_the_result_in_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "1")
    key, first = run(TUNE.format(budget=1), tmp_path)
    other_key, second = run(TUNE.format(budget=1), tmp_path)
    assert key == other_key
    assert first == [[8, 16]]
    assert second == [[8, 16], [8, 32]], "the second search continues the first one"

    database = Database(tmp_path / "tuning.sqlite")
    trials, best = database.trials(key), database.best(key)
    assert len(trials) == 2
    assert best is not None
    is_right, notation, searching = run(USE, tmp_path)
    assert is_right
    assert notation == notation_of(best.strategy)
    assert searching == [], "nothing that searches is imported"
    assert database.trials(key) == trials, "nothing was tried"

    # Times decide whether the default strategy is the best, so store another one here.
    other = next(each.strategy for each in trials if each.strategy != best.strategy)
    database.set_best(key, BestStrategy(other, 1.0, 2.0))
    is_right, other_notation, _ = run(USE, tmp_path)
    assert is_right
    assert other_notation == notation_of(other) != notation
