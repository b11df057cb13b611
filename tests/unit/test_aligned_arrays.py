"""Copies of arrays start at cache lines."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import riselang as rl
from riselang.support.aligned_arrays import CACHE_LINE, aligned_copy


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "?", "c8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (31, 40), (300, 5)])
def test_copies_have_equal_elements(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    copy = aligned_copy(array)
    assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
    assert copy.flags.c_contiguous
    assert not np.shares_memory(copy, array)
    assert (copy == array).all()
    assert copy.nbytes < 1024 or copy.ctypes.data % CACHE_LINE == 0


def test_captured_arrays_are_aligned() -> None:
    table = np.arange(1000.0).reshape(50, 20)
    program = rl.jit(lambda x: table.T @ x).lower(np.ones(50))
    (captured,) = program.interface.captured
    assert captured.ctypes.data % CACHE_LINE == 0
    assert (captured == table.T).all()
