"""Spaces of programs for a GPU: searched, measured and checked without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.term.contraction import contract
from riselang.tuning.generic_spaces import generic_space
from riselang.tuning.measurement import Pace, compile_strategy, measure_strategy
from riselang.tuning.search import make_search
from riselang.tuning.tune import make_task
from support.emulated_gpu import Emulate

SOFTMAX = """fun((rows : 3.256.f32), rows |> map(fun(row,
  let largest = row |> reduce(max, -inf);
  let powers = row |> map(fun(e, exp(e - largest)));
  let total = powers |> reduce(add, 0.0);
  powers |> map(fun(p, p / total)))))"""
PRODUCT = """fun((a : 512.64.bf16, b : 64.512.bf16), a |> map(fun(row, b |> transpose |> map(
  fun(column, zip(row, column) |> map(fun(p, cast[f32](fst(p)) * cast[f32](snd(p))))
    |> reduce(add, 0.0))))))"""
NUMBERS = ({}, {"on_gpu_threads": 64, "on_gpu_lanes": 2}, {"on_gpu_partial_sums": 8})


def program(text: str) -> Any:
    loaded: Any = rl.loads(text, name="program.rise", loops="gpu", float="relaxed")
    return loaded.main


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_strategies_of_a_space_are_checked_and_measured(
    numbers: dict[str, int], emulate: Emulate
) -> None:
    lowered = program(SOFTMAX).lower()
    rows = np.random.default_rng(0).random((3, 256), np.float32)
    task = make_task(lowered, (rows,))
    assert dict(task.options)["loops"] == "gpu"
    space, start = generic_space(contract(lowered.source), "relaxed", "gpu")
    strategy = str(space.strategy_for({**start, **numbers}))
    kernel: Any = rl.loads(
        task.program, name="program.rise", loops="gpu", float="relaxed", strategy=strategy
    )
    gpu = emulate(kernel.main.lower())
    assert compile_strategy(task, strategy).status == "compiled"
    outcome = measure_strategy(task, strategy, None, Pace(1, 1, 1))
    assert outcome.status == "measured", outcome.reason
    assert gpu.launched
    if "on_gpu_threads" in numbers:
        assert {block for _, _, block in gpu.launched} == {(64, 1, 1)}


def test_the_space_of_a_product_has_tiles_for_tensor_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    term = contract(program(PRODUCT).lower().source)
    space, start = generic_space(term, "relaxed", "gpu")
    assert space.permits(start)
    assert start["tensor_tiles_row_warps"] in space.parameters["tensor_tiles_row_warps"]
    search = make_search("random", space, 0, start)
    for _ in range(3):
        choices = search.ask()
        assert choices is not None
        assert "tensor_tiles(" in str(space.strategy_for(choices))
    too_large = {**start, "tensor_tiles_row_tiles": 4, "tensor_tiles_column_tiles": 32}
    assert not space.permits(too_large), "a thread has too few registers"
