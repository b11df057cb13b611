"""Searches replayed on spaces that were measured on a machine with AVX-512 and an H200."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.tuning.replay import RecordedSpace, median_curve, random_curve, score

RECORDED = Path(__file__).parents[3] / "benchmarks/recorded"
NAMES = sorted(path.name.partition(".")[0] for path in RECORDED.glob("*.space.gz"))
QUICK = ("matmul_512_f64", "softmax")
TRIALS, SEEDS = 100, range(20)


def load(name: str) -> RecordedSpace:
    return RecordedSpace.load(RECORDED / f"{name}.space.gz")


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.rotating(2) if name in QUICK else pytest.mark.nightly)
        for name in NAMES
    ],
)
def test_evolution_finds_hand_speed_and_is_better_than_random_search(name: str) -> None:
    space = load(name)
    trials = 150 if name.startswith("gpu") else TRIALS
    assert len(space.times) > trials
    curves = [space.curve("evolution", seed, trials) for seed in SEEDS]
    good = [curve[-1] * 0.95 <= space.hand_seconds for curve in curves]
    assert sum(good) >= 0.8 * len(good)
    random = random_curve(space, trials)
    assert score(median_curve(curves), random, list(space.times.values())) > 0.0


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.space.gz")), ids=lambda path: path.name)
def test_records_are_complete(path: Path) -> None:
    space = RecordedSpace.load(path)
    assert space.start is not None
    assert tuple(space.start.values()) in space.times, "the default's choice was measured"
    assert {"program", "options", "hand", "machine", "version", "choices"} <= space.facts.keys()
    assert space.optimum <= space.hand_seconds * 1.05
