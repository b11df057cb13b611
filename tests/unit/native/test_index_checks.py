"""Which branches of index checks LLVM considers unlikely."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import riselang as rl


def ir_of(function: Any, *arrays: Any) -> str:
    ir: str = rl.jit(function).lower(*arrays).as_text("llvm")
    return ir


def test_indices_that_are_not_in_bounds_are_unlikely() -> None:
    indices = np.zeros(100, np.int64)
    ir = ir_of(lambda x, i, j: x.at[i].add(x[j]), np.zeros(9), indices, indices)
    marks = re.findall(r"^  br i1 .*, !prof !(\d+)$", ir, re.MULTILINE)
    assert len(marks) == 2
    assert f'!{marks[0]} = !{{!"branch_weights", i32 2000, i32 1}}' in ir


def test_other_branches_have_no_weights() -> None:
    assert "!prof" not in ir_of(lambda x: rl.where(x > 0, x, -x), np.zeros(9))
    indices = np.zeros(100, np.uint8)
    assert "!prof" not in ir_of(lambda x, i: x[i], np.zeros(256), indices)


def test_negative_indices_count_from_the_end() -> None:
    x, indices = np.arange(9.0), np.array([-1, 3, -9])
    assert (rl.jit(lambda x, i: x[i])(x, indices) == x[indices]).all()
