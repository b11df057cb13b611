"""Recording a space: each choice is compiled, checked and measured once."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.support.errors import UserError
from riselang.tuning.recording import Recorder, part_of_space
from riselang.tuning.replay import RecordedSpace
from riselang.tuning.spaces import Space
from riselang.tuning.tune import make_task

SPACE = Space(st.split(st.param("size", [2, 3, 4, 8])) @ st.outermost("map"))
START = {"size": 4}


@pytest.fixture
def recorder() -> Generator[Recorder]:
    recorder = Recorder(jobs=1)
    yield recorder
    recorder.close()


@pytest.mark.rotating(2)
def test_choices_are_measured_beside_the_best_hand_strategy(
    recorder: Recorder, tmp_path: Path
) -> None:
    x = np.arange(64, dtype=np.float32)
    program: Any = rl.loads("fun((x : 64.f32), x |> map(fun(a, a * 2.0)))", name="scale.rise")
    task = make_task(program.main.lower(x), (x,))
    hands = ("split(3) @ outermost('map')", "none")
    record = recorder.record(task, SPACE, START, hands, seconds=60.0)
    assert record.facts["hand"] == "none", "the other one does not apply"
    assert record.times.keys() == {(2,), (3,), (4,), (8,)}
    assert record.times[3,] is None
    assert "64 is not a multiple of 3" in str(record.entries[3,])
    assert all(record.times[size,] for size in (2, 4, 8))
    path = tmp_path / "scale.space.gz"
    record.save(path)
    assert RecordedSpace.load(path).times.keys() == record.times.keys()
    assert recorder.record(task, SPACE, START, ("none",), seconds=0.0).times == {}
    with pytest.raises(UserError, match="none of the strategies"):
        recorder.record(task, SPACE, START, hands[:1], seconds=1.0)


def test_a_part_of_a_space_has_values_around_the_start() -> None:
    values = [1, 2, 3, 4, 5, 6, 7, 8]
    space = Space(st.tile(st.param("a", values), st.param("b", values)))
    start = {"a": 1, "b": 7}
    part = part_of_space(space, start, {"a": 3, "b": 4})
    assert part.parameters == {"a": (1, 2, 3), "b": (5, 6, 7, 8)}
    listed = part_of_space(space, start, {"a": (2, 8, 9), "b": 1})
    assert listed.parameters == {"a": (1, 2, 8)}, "the start is always a choice"
    fixed = part_of_space(space, start, {"a": 10})
    assert fixed.parameters == {"a": tuple(values)}
    assert str(fixed.strategy_for({"a": 2})) == "tile(2, 7)"
