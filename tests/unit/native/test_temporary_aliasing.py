"""Temporaries alias no other memory, which LLVM must know to vectorize short rows."""

from __future__ import annotations

import numpy as np

import riselang as rl
from riselang.native.llvm.codegen import optimize


def test_rows_that_are_computed_into_a_temporary_are_vectorized() -> None:
    def softmax(scores: rl.Array) -> rl.Array:
        exponentials = rl.math.exp(scores - scores.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    program = rl.jit(softmax, float="relaxed").lower(np.zeros((1000, 10), np.float32))
    ir = program.as_text("llvm")
    assert "declare noalias ptr @aligned_alloc(i64, i64) nobuiltin" in ir
    optimized = optimize(ir)
    assert "fmul contract float" not in optimized
    assert "fmul contract <" in optimized
