"""`sizes="auto"`: a few combinations of sizes are specialized; one kernel serves the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.jit_kernel import MAX_SPECIALIZED


def scale(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: e * 2.0)


def backward(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.take(len(x) - 1)


@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_many_sizes_share_one_kernel(backend: str) -> None:
    kernel = rl.jit(scale, sizes="auto", backend=backend)
    for _ in range(2):
        for length in (0, *range(1, 12), 3, 300):
            x = np.arange(length, dtype=np.float32)
            assert np.array_equal(kernel(x), x * 2)
            assert np.array_equal(kernel(x), x * 2)
    assert len(kernel._specialized_sizes) == MAX_SPECIALIZED
    assert len(kernel._lowered) == MAX_SPECIALIZED
    assert len(kernel._dynamic_kernel._lowered) == 1


def test_results_are_written_to_an_array() -> None:
    kernel = rl.jit(scale, sizes="auto")
    for length in range(1, 10):
        x, out = np.ones(length, np.float32), np.zeros(length, np.float32)
        assert kernel(x, out=out) is out
        assert np.array_equal(kernel(x, out=out), x * 2)


def test_a_function_that_needs_its_sizes_is_specialized_for_all_of_them() -> None:
    kernel = rl.jit(backward, sizes="auto")
    for length in range(1, 9):
        x = np.arange(length, dtype=np.float32)
        assert np.array_equal(kernel(x), x[:-1])
    assert len(kernel._specialized_sizes) == 8


def test_other_words_are_refused() -> None:
    with pytest.raises(rl.UserError, match="sizes must be one of specialize, symbolic, auto"):
        rl.jit(scale, sizes="some")
