"""Searches replayed on parts of spaces that were measured on a machine with AVX-512 and an H200.

In the records of the other programs, evolution is not reliably better than random search: they
have about as many choices as a search tries, or fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.tuning.replay import RecordedSpace, median_curve, random_curve, score

RECORDED = Path(__file__).parents[3] / "benchmarks/recorded"
SPACES = ("matmul_512_f64", "jacobi_3d", "gpu_matmul_4096_bf16")
TRIALS, SEEDS = 100, range(40)


def load(name: str) -> RecordedSpace:
    return RecordedSpace.load(RECORDED / f"{name}.space.gz")


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", SPACES)
def test_evolution_finds_hand_speed_and_is_better_than_random_search(name: str) -> None:
    space = load(name)
    times = list(space.times.values())
    assert len(times) > TRIALS
    curves = [space.curve("evolution", seed, TRIALS) for seed in SEEDS]
    good = [curve[-1] * 0.95 <= space.hand_seconds for curve in curves]
    assert sum(good) >= 0.8 * len(good)
    assert score(median_curve(curves), random_curve(space, TRIALS), times) > 0.0


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.space.gz")), ids=lambda path: path.name)
def test_records_are_complete(path: Path) -> None:
    space = RecordedSpace.load(path)
    assert space.start is not None
    assert tuple(space.start.values()) in space.times, "the default's choice was measured"
    assert {"program", "options", "hand", "machine", "version", "choices"} <= space.facts.keys()
    assert space.optimum <= space.hand_seconds * 1.05
