"""What users get wrong is shown with the lines of their program, without those of riselang."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.errors import InternalError, RiseError, UserError
from riselang.support.tracebacks import shorten_traceback, with_short_tracebacks

OURS = str(Path(rl.__file__).parent)
X = np.zeros(3, np.float32)


@rl.jit
def sums(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda p: p[0] + p[1])


@rl.jit
def third(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda p: p[2])


def frames(error: RiseError) -> list[traceback.FrameSummary]:
    return traceback.extract_tb(error.__traceback__)


def ours(error: RiseError) -> int:
    return sum(frame.filename.startswith(OURS) for frame in frames(error))


WRONG: dict[str, Callable[[], object]] = {
    "lengths": lambda: sums(X, np.zeros(4, np.float32)),
    "arguments": lambda: sums(X),
    "a name": lambda: sums(X, z=X),
    "out": lambda: sums(X, X, out=np.zeros(4, np.float32)),
    "an index": lambda: third(X, X),
    "a trace": lambda: third.trace(X, X),
    "a strategy": lambda: sums.trace(X, X).lower(strategy="nonsense()"),
    "a stage": lambda: sums.lower(X, X).as_text("nonsense"),
    "a compiled program": lambda: sums.lower(X, X).compile()(X),
    "a file": lambda: rl.load("nowhere.rise"),
    "notation": lambda: rl.loads("def f = ", name="f.rise"),
    "a backend": lambda: rl.jit(backend="nonsense"),
    "a module": lambda: rl.from_stablehlo("nonsense"),
}


@pytest.mark.parametrize("what", WRONG)
def test_at_most_one_line_is_ours(what: str) -> None:
    with pytest.raises(UserError) as raised:
        WRONG[what]()
    assert ours(raised.value) == 1, frames(raised.value)


def test_the_lines_of_the_program_stay() -> None:
    with pytest.raises(UserError) as raised:
        third(X, X)
    names = [frame.name for frame in frames(raised.value) if frame.filename == __file__]
    assert names == ["test_the_lines_of_the_program_stay", "third", "<lambda>"]


def test_all_of_it_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_DEBUG", "1")
    with pytest.raises(UserError) as raised:
        third(X, X)
    assert ours(raised.value) > 5


def test_errors_of_ours_are_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_DEBUG", "1")
    with pytest.raises(UserError) as raised:
        third(X, X)
    monkeypatch.delenv("RISE_DEBUG")
    defect = InternalError("a defect").with_traceback(raised.value.__traceback__)
    assert ours(shorten_traceback(defect)) > 5


def test_causes_stay() -> None:
    cause = ValueError("the reason")

    @with_short_tracebacks
    def failing() -> None:
        raise UserError("wrong") from cause

    with pytest.raises(UserError) as raised:
        failing()
    assert raised.value.__cause__ is cause
    assert failing.__name__ == "failing"
