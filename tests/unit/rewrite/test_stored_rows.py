"""Rows that a loop stores, and that only one map reads, are stored one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.machine import assume_machine
from support.machines import MACHINES

CHANNELS = """fun((x : 42.34.CHANNELS.f32, w : 3.3.CHANNELS.f32),
  let sums = x |> map(fun(row, row |> slide(3, 1) |> map(transpose))) |> slide(3, 1)
    |> map(transpose) |> map(map(transpose)) |> map(map(fun(window,
      zip(window, w |> map(transpose) |> transpose) |> map(fun(pair,
        zip(fst(pair) |> join, snd(pair) |> join) |> map(mult) |> reduce(add, 0.0))))))
    |> toMem(heap);
  READ)"""
"""A depthwise convolution of channels, which are the last dimension, and what reads it."""
ACTIVATION = "sums |> map(map(map(fun(s, max(s, 0.0) * s))))"
READERS = {
    "an activation": ACTIVATION,
    "a function that calls the library": "sums |> map(map(map(fun(s, tanh(s) + s))))",
    "sums of rows": "sums |> map(fun(row, row |> map(reduce(add, 0.0))))",
    "two readers": f"zip({ACTIVATION} |> join |> join, sums |> join |> join)",
    "rows in another order": "sums |> reverse |> map(map(map(fun(s, s + s))))",
}


def loaded(reader: str, channels: int, strategy: str | None = None) -> Any:
    text = CHANNELS.replace("READ", READERS[reader]).replace("CHANNELS", str(channels))
    module: Any = rl.loads(text, name="program.rise", strategy=strategy)
    return module.main


@pytest.mark.parametrize("machine", ["AVX2", "AVX-512", "Neoverse N1"])
@pytest.mark.parametrize("channels", [16, 29, 64])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.sampled(8)
def test_results_have_the_bits_of_the_source(reader: str, channels: int, machine: str) -> None:
    source = np.random.default_rng(0)
    x, w = (source.standard_normal(shape).astype(np.float32)
            for shape in ((42, 34, channels), (3, 3, channels)))  # fmt: skip
    with assume_machine(MACHINES[machine]):
        found = loaded(reader, channels)(x, w)
    expected = loaded(reader, channels, "none")(x, w)
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("reader", READERS)
def test_rows_are_stored_one_at_a_time(reader: str) -> None:
    with assume_machine(MACHINES["AVX-512"]):
        lowered = loaded(reader, 64).lower()
        rules = {step.rule.name for step in lowered.derivation.steps}
        is_stored = "memref<40x32x64xf32>" in "".join(
            line for line in lowered.as_text("affine").splitlines() if "memref.alloc" in line
        )
    is_fused = reader not in ("two readers", "rows in another order")
    assert ("fuse_stored_rows_in_parallel" in rules) is is_fused
    assert is_stored is not is_fused


def test_few_vectors_stay_in_registers() -> None:
    with assume_machine(MACHINES["AVX-512"]):
        text = loaded("an activation", 64).lower().as_text("notation")
    assert "mapSeqUnroll(fun(s,\n        max(s, 0.0 |> vectorFromScalar(8)) * s))" in text
