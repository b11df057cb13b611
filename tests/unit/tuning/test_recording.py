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
from riselang.tuning.recording import Recorder, choices_by_slab, part_of_space, whole_slabs
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


@pytest.mark.rotating(4)
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
    with pytest.raises(UserError, match="no strategy to compare with can be measured; split"):
        recorder.record(task, SPACE, START, hands[:1], seconds=1.0)


def test_slabs_that_are_not_complete_are_left_out() -> None:
    space = Space(st.tile(st.param("a", [1, 2, 3]), st.param("b", [4, 5])))
    start = {"a": 2, "b": 5}
    choices = choices_by_slab(space, start, "a")
    assert choices[0] == start
    assert [each["a"] for each in choices] == [2, 2, 1, 1, 3, 3]
    keys = [space.key(each) for each in choices]
    entries = dict.fromkeys(keys, (1.0, 2.0))
    assert whole_slabs(space, start, "a", keys, entries) == (space, entries)
    part, rest = whole_slabs(space, start, "a", keys, {key: entries[key] for key in keys[:5]})
    assert part.parameters == {"a": (1, 2), "b": (4, 5)}
    assert rest.keys() == set(keys[:4])
    part, rest = whole_slabs(space, start, "a", keys, {key: entries[key] for key in keys[:3]})
    assert part.parameters == {"b": (4, 5)}
    assert rest.keys() == {(4,), (5,)}
    part, rest = whole_slabs(space, start, "a", keys, {keys[0]: (1.0, 2.0)})
    assert (part, rest.keys()) == (space, {keys[0]}), "no slab is complete"


@pytest.mark.rotating(4)
def test_strategies_with_the_same_effect_are_measured_once(recorder: Recorder) -> None:
    x = np.arange(64, dtype=np.float32)
    program: Any = rl.loads("fun((x : 64.f32), x |> map(fun(a, a * 2.0)))", name="scale.rise")
    task = make_task(program.main.lower(x), (x,))
    split = st.split(st.param("size", [2, 4])) @ st.outermost("map")
    space = Space(st.split(st.param("other", [2, 4])) @ st.outermost("zip") | split)
    record = recorder.record(task, space, {"other": 2, "size": 2}, ("none",), 60.0)
    assert record.facts["programs"] == 2
    assert record.entries[2, 4] == record.entries[4, 4] != record.entries[2, 2]


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
