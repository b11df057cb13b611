"""Computed arrays are stored inside of their padding, not copied there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.machine import assume_machine
from support.machines import MACHINES

PROGRAM = """fun((a : 400.24.f32, b : 24.40.f32, w : 3.3.40.f32),
  let sums = a |> map(fun(row, b |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))) |> split(20) |> toMem(heap);
  let padded = sums |> PADDING |> toMem(heap);
  padded |> map(fun(row, row |> slide(3, 1) |> map(transpose))) |> slide(3, 1)
  |> map(transpose) |> map(map(transpose)) |> map(map(fun(window,
    zip(window, w |> map(transpose) |> transpose) |> map(fun(pair,
      zip(fst(pair) |> join, snd(pair) |> join) |> map(mult) |> reduce(add, 0.0)))))))"""
ROWS = "padConst({}, {}, generate(fun((i : idx[20]), generate(fun((j : idx[40]), {})))))"
COLUMNS = "map(fun(row, row |> padConst({}, {}, generate(fun((j : idx[40]), {})))))"
PADDINGS = {
    "zeros around": f"{ROWS} |> {COLUMNS}".format(1, 1, 0.0, 1, 1, 0.0),
    "other numbers": f"{ROWS} |> {COLUMNS}".format(2, 1, 2.5, 1, 3, -1.0),
    "rows alone": ROWS.format(1, 2, 0.0),
    "columns alone": COLUMNS.format(1, 1, 0.0),
    "one side": ROWS.format(0, 2, 0.0),
    "the edge": "pad(1, 1)",
}
INSIDE = ("zeros around", "other numbers", "rows alone", "columns alone")


def loaded(padding: str, strategy: str | None = None) -> Any:
    text = PROGRAM.replace("PADDING", PADDINGS[padding])
    module: Any = rl.loads(text, name="program.rise", strategy=strategy)
    return module.main


def rules_of(program: Any) -> set[str]:
    return {step.rule.name for step in program.lower().derivation.steps}


@pytest.mark.parametrize("machine", ["AVX2", "AVX-512", "Neoverse N1"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.sampled(6)
def test_results_have_the_bits_of_the_source(padding: str, machine: str) -> None:
    source = np.random.default_rng(0)
    arrays = [source.standard_normal(shape).astype(np.float32)
              for shape in ((400, 24), (24, 40), (3, 3, 40))]  # fmt: skip
    with assume_machine(MACHINES[machine]):
        found = loaded(padding)(*arrays)
    assert found.tobytes() == loaded(padding, "none")(*arrays).tobytes()


@pytest.mark.parametrize("padding", PADDINGS)
def test_sums_are_stored_inside_of_padding_on_both_sides(padding: str) -> None:
    with assume_machine(MACHINES["AVX-512"]):
        program = loaded(padding)
        assert ("pad_const_as_parts" in rules_of(program)) is (padding in INSIDE)
        lines = program.lower().as_text("affine").splitlines()
    is_copied = any("memref.alloc(" in line and "memref<20x20x40xf32>" in line for line in lines)
    assert is_copied is (padding not in INSIDE)


def test_sums_that_are_read_again_are_copied() -> None:
    text = PROGRAM.replace("PADDING", PADDINGS["zeros around"])
    start, end = text.rsplit("  padded |>", 1)
    program: Any = rl.loads(
        f"{start}  (sums |> join |> join, padded |>{end[:-1]} |> join |> join))",
        name="program.rise",
    ).main
    assert "pad_const_as_parts" not in rules_of(program)
