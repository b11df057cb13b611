"""Programs with more operations than Python has calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.notation.formatting import format_program
from riselang.notation.program import parse_term
from riselang.rewrite.staging import split_by_known_parameters
from riselang.term.nodes import Lambda, Term

pytestmark = pytest.mark.rotating(3)

LEVELS = 1_500


def chain(e: Any) -> Any:
    for _ in range(LEVELS):
        e = e * 1.5 - 0.25  # 0.5 of 0.5
    return e


def doubled_and_halved(e: Any) -> Any:
    for number in range(300):
        e = e * (0.5 if number % 2 else 2.0)
    return e


def many(x: rl.Array[4, rl.f32]) -> Any:
    return x | rl.map(chain)


def test_a_lambda_of_300_operations_compiles_by_default() -> None:
    @rl.jit
    def long(x: rl.Array[100_000, rl.f32]) -> Any:
        return x | rl.map(doubled_and_halved)

    x = np.arange(100_000, dtype=np.float32)
    np.testing.assert_array_equal(long(x), x)


@pytest.mark.parametrize("float", ["relaxed", pytest.param("strict", marks=pytest.mark.nightly)])
def test_every_stage_of_a_deep_program_is_shown(float: str) -> None:
    lowered = rl.jit(float=float, strategy="none")(many).lower()
    for stage in ("notation", "rise", "imperative", "affine"):
        assert len(lowered.as_text(stage)) > LEVELS, stage
    assert lowered.cost_analysis().flops == 4 * 2 * LEVELS


def test_a_deep_program_is_interpreted() -> None:
    interpreted = rl.jit(backend="interpret")(many)
    np.testing.assert_array_equal(interpreted(np.full(4, 0.5, np.float32)), np.float32(0.5))


def test_a_deep_program_is_written_and_read_again() -> None:
    term = rl.jit(many).trace().term
    text = str(term)
    assert parse_term(text) == term
    assert format_program(format_program(text)) == format_program(text)


def test_a_deep_program_is_staged() -> None:
    calls = " ".join("|> map(fun(e, e + 1.0)) |> toMem(heap)" for _ in range(LEVELS))
    term = parse_term(f"fun((w : 4.f32, x : 4.f32), let y = w |> map(neg) |> toMem(heap); "
                      f"zip(x, y) |> map(add) {calls})")  # fmt: skip
    stages = split_by_known_parameters(term, 2, {0})
    assert stages is not None
    assert stages.values == 1
    assert depth_under(stages.second) > LEVELS


def depth_under(term: Term) -> int:
    while isinstance(term, Lambda):
        term = term.body
    return term.depth
