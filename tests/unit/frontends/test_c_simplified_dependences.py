"""isl schedules many dependences faster if they are simplified, and the result is the same."""

from __future__ import annotations

import pytest

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.schedule import planning
from support.c_programs import KERNELS, model


def schedule_of(name: str) -> str:
    scop = model((KERNELS / f"{name}.c").read_text())
    pairs = dependences(scop)
    assert pairs is not None
    return str(planning._compute_isl_schedule(scop, pairs, pairs.ordered).to_str())


@pytest.mark.parametrize("name", ["2mm", "doitgen", "fdtd-2d", "jacobi-2d", "symm"])
def test_simplified_dependences_give_the_same_schedule(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MIN_DEEP_LOOPS", 99)
    expected = schedule_of(name)
    monkeypatch.setattr(planning, "MIN_DEEP_LOOPS", 1)
    assert schedule_of(name) == expected


@pytest.mark.parametrize("name", ["trisolv", "cholesky"])
def test_dependences_without_a_greatest_distance_keep_their_domain(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MIN_DEEP_LOOPS", 1)
    assert schedule_of(name)
