"""Searches on recorded spaces."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import riselang.strategy as st
from riselang.support.errors import UserError
from riselang.tuning.replay import RecordedSpace, score

VALUES = list(range(1, 13))
STRATEGY = str(st.tile(st.param("a", VALUES), st.param("b", VALUES)))
RECORD = RecordedSpace(
    STRATEGY,
    {(a, b): None if a == 3 else 1.0 + (a - 7) ** 2 + (b - 4) ** 2 for a in VALUES for b in VALUES},
)


def test_a_curve_never_rises_and_ends_at_the_optimum() -> None:
    curve = RECORD.curve("evolution", 1, 144)
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] == RECORD.optimum == 1.0
    assert curve == RECORD.curve("evolution", 1, 144), "a replay is deterministic"


def test_evolution_scores_better_than_random_search() -> None:
    random = RECORD.median_curve("random", range(15), 60)
    assert score(RECORD.median_curve("evolution", range(15), 60), random, RECORD.optimum) > 0.1
    assert score(random, random, RECORD.optimum) == 0.0


def test_choices_that_were_not_recorded_are_not_tried() -> None:
    part = RecordedSpace(STRATEGY, {(2, 2): 3.0, (5, 5): None})
    assert part.curve("grid", 0, 3)[-1] == 3.0
    assert score([math.inf, 1.0], [math.inf, 1.0], 1.0) == 0.0


def test_a_record_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "space.json"
    path.write_text(RECORD.to_json())
    assert RecordedSpace.load(path) == RECORD
    path.write_text("{}")
    with pytest.raises(UserError, match="is not a recorded space"):
        RecordedSpace.load(path)
