"""Which loops LLVM is told not to vectorize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import riselang as rl

MARK = "llvm.loop.interleave.count"


def ir_of(function: Callable[..., Any], *arrays: Any) -> str:
    ir: str = rl.jit(function).lower(*arrays).as_text("llvm")
    return ir


def bytes_of(length: int) -> Any:
    return np.zeros(length, np.uint8)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "f2", ml_dtypes.bfloat16])
def test_loops_that_look_up_short_elements_are_marked(dtype: Any) -> None:
    table = np.zeros(256, dtype)
    assert MARK in ir_of(lambda table, x: table[x], table, bytes_of(100))


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_longer_elements_are_gathered_in_vectors(dtype: Any) -> None:
    table = np.zeros(256, dtype)
    assert MARK not in ir_of(lambda table, x: table[x], table, bytes_of(100))


def test_loops_that_read_neighbors_are_vectorized() -> None:
    assert MARK not in ir_of(lambda x: x[1:] ^ x[:-1], bytes_of(100))


def test_loops_that_compute_more_are_vectorized() -> None:
    def mix(table: Any, x: Any) -> Any:
        def mix_element(index: Any) -> Any:
            mixed = table[index]
            for shift in range(1, 6):
                mixed = (mixed << shift) ^ (mixed >> shift)
            return mixed

        return x | rl.map(mix_element)

    assert MARK not in ir_of(mix, bytes_of(256), bytes_of(100))


def test_marks_are_metadata_of_their_own() -> None:
    ir = ir_of(lambda table, x: (table[x], table[x[::-1]]), bytes_of(256), bytes_of(100))
    definitions = [line for line in ir.split("\n") if line.startswith("!")]
    loops = [line for line in ir.split("\n") if ", !llvm.loop !" in line]
    assert len(loops) == sum("distinct" in line for line in definitions) == 2


def test_lookups_agree_with_numpy() -> None:
    generator = np.random.default_rng(5)
    table = generator.permutation(256).astype(np.uint8)
    image = generator.integers(0, 256, (33, 65), np.uint8)
    assert (rl.jit(lambda table, x: table[x])(table, image) == table[image]).all()
