"""Searches on recorded spaces."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import riselang.strategy as st
from riselang.support.errors import UserError
from riselang.tuning.replay import RecordedSpace, median_curve, random_curve, score

VALUES = list(range(1, 13))
STRATEGY = str(st.tile(st.param("a", VALUES), st.param("b", VALUES)))
RECORD = RecordedSpace(
    STRATEGY,
    {
        (a, b): "inapplicable: 3" if a == 3 else (1.0 + (a - 7) ** 2 + (b - 4) ** 2, 4.0)
        for a in VALUES
        for b in VALUES
    },
    hand_seconds=4.0,
    start={"a": 7, "b": 4},
    facts={"machine": "none"},
)


def median_of(search: str) -> list[float]:
    return median_curve([RECORD.curve(search, seed, 60) for seed in range(15)])


def test_a_curve_never_rises_and_ends_at_the_optimum() -> None:
    curve = RECORD.curve("evolution", 1, 144)
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] == RECORD.optimum == 1.0
    assert curve == RECORD.curve("evolution", 1, 144), "a replay is deterministic"


def test_evolution_scores_better_than_random_search() -> None:
    times = list(RECORD.times.values())
    random = random_curve(times, 60)
    assert score(median_of("evolution"), random, times) > 0.1
    assert score(random, random, times) == 0.0
    assert score([1.0] * 60, random, times) == 1.0


def test_the_median_of_random_search_is_computed() -> None:
    assert random_curve([3.0, 1.0, 2.0, None], 4) == [2.0, 1.0, 1.0, 1.0]
    assert random_curve([None, None, None, 1.0], 2) == [math.inf, 1.0]
    searched = median_curve([RECORD.curve("random", seed, 40) for seed in range(60)])
    computed = random_curve(list(RECORD.times.values()), 40)
    assert sum(map(abs, np.subtract(searched, computed)[5:])) < 10


def test_a_curve_may_begin_with_what_the_default_strategy_chooses() -> None:
    assert RECORD.curve("random", 3, 2, RECORD.start) == [1.0, 1.0]


def test_choices_that_were_not_recorded_are_not_tried() -> None:
    part = RecordedSpace(STRATEGY, {(2, 2): (3.0, 2.0), (5, 5): "failed"}, hand_seconds=1.0)
    assert part.curve("grid", 0, 3)[-1] == 1.5, "the hand strategy took twice as long as usual"
    assert score([math.inf, 1.0], [math.inf, 1.0], [1.0, 2.0]) == 0.0


def test_a_record_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "record.space.gz"
    RECORD.save(path)
    assert RecordedSpace.load(path) == RECORD
    path.write_text("{}")
    with pytest.raises(UserError, match="is not a recorded space"):
        RecordedSpace.load(path)
