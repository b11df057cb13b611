"""Searches on recorded spaces."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import riselang.strategy as st
from riselang.support.errors import UserError
from riselang.tuning.replay import Entry, Key, RecordedSpace, median_curve, random_curve, score

VALUES = list(range(1, 13))
STRATEGY = str(st.tile(st.param("a", VALUES), st.param("b", VALUES)))


def measured(a: int, b: int) -> Entry:
    """The seconds of a choice beside those of the hand strategy, both multiplied by a factor, so
    that few choices have the same entry, which would mean that they have the same effect."""
    factor = 2.0 ** (a // 2 + (b > 4))
    return (1.0 + (a - 7) ** 2 + (b - 4) ** 2) * factor, 4.0 * factor


RECORD = RecordedSpace(
    STRATEGY,
    {(a, b): "inapplicable: 3" if a == 3 else measured(a, b) for a in VALUES for b in VALUES},
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
    random = random_curve(RECORD, 60)
    assert score(median_of("evolution"), random, times) > 0.1
    assert score(random, random, times) == 0.0
    assert score([1.0] * 60, random, times) == 1.0


@pytest.mark.rotating(3)
def test_random_search_finds_the_fastest_choices_at_the_expected_rate() -> None:
    curve = random_curve(RECORD, 144)
    assert curve == sorted(curve, reverse=True)
    # After n of N draws, the best has rank N / (n + 1) on average.
    ranked = sorted(each for each in RECORD.times.values() if each is not None)
    assert ranked[144 // 40] <= curve[20] <= ranked[144 // 10]


def test_strategies_with_the_same_effect_count_a_tenth() -> None:
    entries: dict[Key, Entry] = {(a, b): (1.0 + a * (b > 6), 4.0) for a in VALUES for b in VALUES}
    space = RecordedSpace(STRATEGY, entries, hand_seconds=4.0)
    curve = space.curve("grid", 0, 20)
    assert curve[:2] == [1.0, 1.0], "6 strategies of each 12 do the same"
    # Of 144 choices, 13 are different programs, and 131 count as 13.
    assert space.curve("grid", 0, 26) == [1.0] * 26


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
