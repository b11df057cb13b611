"""Stages that read rows of an earlier stage at offsets are fused with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

X = np.random.default_rng(3).random((260, 260), np.float32)


def neighbors(x: Any) -> Any:
    return x[:-2] + x[1:-1] + x[2:]


FUSED: dict[str, Callable[[Any], Any]] = {
    "three rows": lambda x: neighbors(x * x),
    "two rows": lambda x: (lambda y: y[2:] - y[:-2])(x * x),
    "some rows": lambda x: (lambda y: y[1:-2] * y[2:-1])(x * x),
    "rows, then columns": lambda x: neighbors(neighbors(x * x).T[:256].T),
    "columns of a row": lambda x: (lambda y: y[:, 2:] - y[:, :-2])(x * x),
    "twice": lambda x: neighbors(neighbors(x * x)),
}
UNCHANGED: dict[str, Callable[[Any], Any]] = {
    "also a result": lambda x: (lambda y: (y, neighbors(y)))(x * x),
    "two readers": lambda x: (lambda y: neighbors(y) * y[1:-1].max())(x * x),
    "with another array": lambda x: (lambda y: y[:-1] + x[1:])(x * x),
    "few elements": lambda x: neighbors(x[:20] * x[:20]),
    "lines": lambda x: neighbors(x.reshape(-1) * 2),
}


def steps(function: Callable[[Any], Any]) -> list[str]:
    derivation = rl.jit(function).lower(X).derivation
    return [] if derivation is None else [str(step.rule) for step in derivation.steps]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FUSED)
def test_rows_that_one_stage_reads_are_fused(name: str) -> None:
    function = FUSED[name]
    assert "inline_let" in steps(function)
    assert (rl.jit(function)(X) == function(X)).all()


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_rows_stay_stored(name: str) -> None:
    assert "inline_let" not in steps(UNCHANGED[name])


def test_symbolic_sizes_stay_stored() -> None:
    program = rl.jit(FUSED["three rows"], sizes="symbolic")
    assert np.allclose(program(X), FUSED["three rows"](X))
