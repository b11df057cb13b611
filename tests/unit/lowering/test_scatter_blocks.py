"""Scatters whose indices and values are computed in blocks, and histograms with several copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import agree, text

import riselang as rl

pytestmark = pytest.mark.rotating(4)

LENGTHS = (255, 256, 1000)


def keys(length: int) -> Any:
    return np.random.default_rng(length).integers(-2, 12, length).astype(np.int32)


@pytest.mark.parametrize("operation", ["add", "mult", "bitand", "bitor", "bitxor", "max", "sub"])
@pytest.mark.sampled(3)
def test_integers_are_combined(operation: str) -> None:
    combine: Any = {
        "bitand": lambda a, b: a & b, "bitor": lambda a, b: a | b, "bitxor": lambda a, b: a ^ b,
    }.get(operation) or getattr(rl, operation)  # fmt: skip

    def program(counts: rl.Array[8, rl.i32], keys: rl.Array["N", rl.i32]) -> Any:
        return rl.scatter_with(
            combine, keys | rl.map(rl.clamp_idx(8)), counts, keys | rl.map(lambda k: k * 3 + 1)
        )

    counts = np.arange(8, dtype=np.int32) - 3
    for length in LENGTHS:
        agree(program, counts, keys(length))


def test_floats_are_added_in_order() -> None:
    def program(sums: rl.Array[8, rl.f32], keys: rl.Array["N", rl.i32]) -> Any:
        values = keys | rl.map(lambda k: rl.cast(k, rl.f32) * 0.1)
        return rl.scatter_with(rl.add, keys | rl.map(rl.clamp_idx(8)), sums, values)

    for length in LENGTHS:
        agree(program, np.full(8, 0.3, np.float32), keys(length))
    assert "memref<256xf32>" in text(program, np.zeros(8, np.float32), keys(1000))


def test_the_last_value_wins() -> None:
    def program(old: rl.Array[8, rl.i32], keys: rl.Array["N", rl.i32]) -> Any:
        positions = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32))
        return rl.scatter(keys | rl.map(rl.clamp_idx(8)), old, positions)

    for length in LENGTHS:
        agree(program, np.zeros(8, np.int32), keys(length))


def test_rows_are_combined() -> None:
    def program(sums: rl.Array[8, rl.Array[2, rl.i32]], keys: rl.Array["N", rl.i32]) -> Any:
        rows = keys | rl.map(lambda k: rl.generate(lambda i: k + 1, n=2))
        add = lambda old, new: rl.zip(old, new) | rl.map(rl.add)  # noqa: E731
        return rl.scatter_with(add, keys | rl.map(rl.clamp_idx(8)), sums, rows)

    agree(program, np.zeros((8, 2), np.int32), keys(300))


def test_short_arrays_have_no_copies() -> None:
    def program(keys: rl.Array[100, rl.i32]) -> Any:
        zeros = rl.generate(lambda i: rl.literal(0, rl.i32), n=8)
        return rl.scatter_with(
            rl.add, keys | rl.map(rl.clamp_idx(8)), zeros, keys | rl.map(lambda k: 1)
        )

    agree(program, keys(100))
    assert "alloc" not in text(program, keys(100))
