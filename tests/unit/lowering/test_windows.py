"""`circularBuffer` and `rotateValues`: each element computed once, in a buffer used in turns."""

from typing import Any

import numpy as np
import pytest
from agreement import agree, text

import riselang as rl

pytestmark = pytest.mark.rotating(4)

X = np.random.default_rng(0).standard_normal(20).astype(np.float32)
M = np.random.default_rng(1).standard_normal((9, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("alloc", "count"), [(1, 20), (3, 4), (3, 20), (4, 3), (5, 20), (8, 20), (100, 20)]
)
def test_a_circular_buffer_of_any_length(alloc: int, count: int) -> None:
    def sums(x: rl.Array["N", rl.f32]) -> Any:
        windows = x | rl.circular_buffer(alloc, 3, lambda v: v * v)
        return windows | rl.map_seq(rl.reduce(rl.add, 0.0))

    agree(sums, X[:count].copy())


def test_a_circular_buffer_has_the_requested_length() -> None:
    def sums(x: rl.Array[20, rl.f32]) -> Any:
        windows = x | rl.circular_buffer(4, 3, lambda v: rl.math.exp(v))
        return windows | rl.map_seq(rl.reduce(rl.add, 0.0))

    loops = text(sums, X)
    assert "memref<4xf32>" in loops
    assert "memref<22xf32>" not in loops
    assert loops.count("call @expf") == 2, "once before the loop, once in it"
    assert "mod 4" in loops


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_values_rotate(size: int) -> None:
    def sums(x: rl.Array["N", rl.f32]) -> Any:
        windows = x | rl.rotate_values(size, lambda v: v + 1)
        return windows | rl.map_seq(rl.reduce(rl.add, 0.0))

    agree(sums, np.arange(45, dtype=np.float32))


def test_rotated_values_are_carried_by_the_loop() -> None:
    def sums(x: rl.Array[20, rl.f32]) -> Any:
        return x | rl.rotate_values(3, lambda v: v + 1) | rl.map_seq(rl.reduce(rl.add, 0.0))

    assert "-> (f32, f32)" in text(sums, X)


def test_rows_and_pairs() -> None:
    def rows(m: rl.Array[9, 4, rl.f32]) -> Any:
        return (
            m
            | rl.circular_buffer(4, 3, rl.map(lambda v: v * 2))
            | rl.map(lambda window: window | rl.transpose | rl.map(rl.reduce(rl.add, 0.0)))
        )

    def rotated_rows(m: rl.Array[9, 4, rl.f32]) -> Any:
        return m | rl.rotate_values(2, rl.reverse) | rl.map_seq(rl.join)

    def pairs(x: rl.Array[20, rl.f32]) -> Any:
        both = rl.zip(x, x | rl.reverse)
        return (
            both
            | rl.rotate_values(3, lambda p: rl.tuple(rl.snd(p), rl.fst(p)))
            | rl.map(lambda w: w | rl.reduce(lambda s, p: rl.fst(p) - rl.snd(p) * s, 1.0))
        )

    agree(rows, M)
    agree(rotated_rows, M)
    agree(pairs, X)


def test_windows_of_windows_in_order_go_on_together() -> None:
    def stages(m: rl.Array[9, 4, rl.f32]) -> Any:
        sums = rl.map(rl.reduce(rl.add, 0.0))
        return (
            m
            | rl.circular_buffer(3, 3, rl.map(lambda v: v * v))
            | rl.circular_buffer(4, 2, lambda rows: rows | rl.transpose | sums)
            | rl.circular_buffer(2, 2, lambda rows: rows | rl.transpose | sums)
            | rl.map_seq(lambda rows: rows | rl.transpose | sums)
        )

    def rotated(x: rl.Array[20, rl.f32]) -> Any:
        windows = x | rl.rotate_values(3, lambda v: v * v)
        windows = windows | rl.circular_buffer(2, 2, rl.reduce(rl.add, 0.0))
        return windows | rl.map_seq(rl.reduce(rl.add, 0.0))

    agree(stages, M)
    agree(rotated, X)
    assert "x9x" not in text(stages, M).replace("memref<9x4xf32>", "")
    assert "memref<3x4xf32>" in text(stages, M)


def test_windows_that_are_not_read_in_order_get_memory() -> None:
    def par(x: rl.Array[20, rl.f32]) -> Any:
        windows = x | rl.circular_buffer(4, 3, lambda v: v * v)
        return windows | rl.map_par(rl.reduce(rl.add, 0.0))

    def backwards(x: rl.Array[20, rl.f32]) -> Any:
        windows = x | rl.rotate_values(3, lambda v: v * v)
        return windows | rl.reverse | rl.map_seq(rl.reduce(rl.add, 0.0))

    def alone(x: rl.Array[20, rl.f32]) -> Any:
        return x | rl.circular_buffer(3, 3, lambda v: v * v)

    for function in (par, backwards, alone):
        agree(function, X, threads=(1, 2, 3))
        assert "memref<20xf32>" in text(function, X)


def test_a_window_of_windows_in_threads() -> None:
    def two(m: rl.Array[9, 20, rl.f32]) -> Any:
        def row(xs: Any) -> Any:
            inner = (
                xs | rl.circular_buffer(4, 3, lambda v: v + 1) | rl.map_seq(rl.reduce(rl.add, 0.0))
            )
            return inner | rl.rotate_values(2, lambda v: v * 2) | rl.map_seq(rl.reduce(rl.max, 0.0))

        return m | rl.map_par(row)

    agree(two, np.random.default_rng(2).standard_normal((9, 20)).astype(np.float32), threads=(1, 3))


def test_a_circular_buffer_in_a_map_that_is_only_read() -> None:
    def read(m: rl.Array[9, 4, rl.f32]) -> Any:
        def row(xs: Any) -> Any:
            sums = (
                xs | rl.circular_buffer(3, 2, lambda v: v * v) | rl.map_seq(rl.reduce(rl.add, 0.0))
            )
            return sums | rl.reduce(rl.max, 0.0)

        return m | rl.map(row) | rl.slide(2, 1) | rl.map(rl.reduce(rl.add, 0.0))

    agree(read, M)
