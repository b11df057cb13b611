"""Checks of indices that are proven to be in bounds, and inputs that are read as one dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

TABLE = np.arange(256, dtype=np.int32) * 3
BYTES = np.arange(60, dtype=np.uint8).reshape(4, 15) * 4

PROVEN: dict[str, Callable[..., Any]] = {
    "a byte": lambda table, x: table[x],
    "a converted byte": lambda table, x: table[x.astype(rl.i32)],
    "the low bits": lambda table, x: table[(x.astype(rl.i32) * 1000) & 255],
    "a range": lambda table, x: rl.arange(100, 200) | rl.map(lambda i: table[i]),
    "a shared range": lambda table, x: (lambda i: table[i] + table[i + 1])(rl.arange(99)),
    "one of two": lambda table, x: table[rl.where(x > 9, x.astype(rl.i32), 255)],
    "a histogram": lambda table, x: rl.zeros(256, rl.i32).at[x.reshape(-1)].add(1),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven_indices_are_not_checked(name: str) -> None:
    kernel = rl.jit(PROVEN[name])
    text = kernel.lower(TABLE, BYTES).as_text("affine")
    assert "rise_index_error" not in text
    assert "failure" not in text
    expected = rl.jit(PROVEN[name], backend="interpret")(TABLE, BYTES)
    np.testing.assert_array_equal(kernel(TABLE, BYTES), expected)


CHECKED: dict[str, Callable[..., Any]] = {
    "a signed byte": lambda table, x: table[x.astype(rl.i8)],
    "a sum": lambda table, x: table[x.astype(rl.i32) + 1],
    "more bits": lambda table, x: table[(x.astype(rl.i32) * 1000) & 511],
    "a long range": lambda table, x: rl.arange(257) | rl.map(lambda i: table[i]),
}


@pytest.mark.parametrize("name", CHECKED)
def test_other_indices_are_checked(name: str) -> None:
    assert "rise_index_error" in rl.jit(CHECKED[name]).lower(TABLE, BYTES).as_text("affine")


def test_a_check_that_fails_is_reported_beside_proven_ones() -> None:
    kernel = rl.jit(lambda table, x: table[x] + table[x.astype(rl.i32) + 20])
    np.testing.assert_array_equal(kernel(TABLE, BYTES // 2)[0, 1], TABLE[2] + TABLE[22])
    with pytest.raises(IndexError, match="the index 256 is not in"):
        kernel(TABLE, BYTES)


def test_a_range_with_several_uses_is_not_stored() -> None:
    def triangle(A: Any) -> Any:
        i = rl.arange(len(A))
        return rl.where(i[:, None] > i, A, 0.0)

    A = np.random.default_rng(3).random((6, 6))
    text = rl.jit(triangle).lower(A).as_text("affine")
    assert "memref.alloca" not in text
    np.testing.assert_array_equal(rl.jit(triangle)(A), np.tril(A, -1))


FLAT: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: x.reshape(-1) * 2,
    "other rows": lambda x: x.reshape(12, 5).sum(axis=1),
    "a part": lambda x: x.reshape(-1)[3:50:2],
    "three axes": lambda x: x.reshape(2, 2, 15).reshape(-1, 4).sum(axis=1),
}


@pytest.mark.parametrize("name", FLAT)
def test_inputs_are_read_without_divisions(name: str) -> None:
    kernel = rl.jit(FLAT[name])
    x = np.random.default_rng(4).integers(0, 99, (4, 15))
    text = kernel.lower(x).as_text("affine")
    assert "floordiv" not in text
    assert "mod " not in text
    np.testing.assert_array_equal(kernel(x), rl.jit(FLAT[name], backend="interpret")(x))


def test_an_array_that_is_written_is_not_flattened() -> None:
    def step(x: Any) -> Any:
        return rl.iterate(3, lambda y: (y.reshape(-1) + 1).reshape(4, 15), x)

    x = np.arange(60).reshape(4, 15)
    np.testing.assert_array_equal(rl.jit(step)(x), x + 3)
