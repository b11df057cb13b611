"""Random contractions through `library="blas"` give what loops give, but for the order of sums."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.fuzzing import Ran, seeds

LENGTHS = (1, 2, 3, 4, 8, 12)
Array = np.ndarray[Any, Any]


def contraction(rng: random.Random) -> tuple[Any, list[Array]]:
    """A function of two matrices and one to be added, and arrays for it."""
    N, K, M = (rng.choice(LENGTHS) for _ in range(3))
    type = rng.choice([rl.f32, rl.f64])
    flipped = [rng.random() < 0.4 for _ in range(3)]
    cut, is_split = rng.choice([0, 1, 2]), rng.random() < 0.5
    alpha, beta = rng.choice([1.0, -2.0, 0.5]), rng.choice([0.0, 1.0, 3.0])
    after, loop = rng.choice(["", "relu", "square"]), rng.choice([rl.map, rl.map_seq, rl.map_par])
    shapes = [(N + cut, K), (K, M), (N, M)]
    shapes = [shape[::-1] if flip else shape for shape, flip in zip(shapes, flipped, strict=True)]

    def function(A: Any, B: Any, C: Any) -> Any:
        left, right, added = (
            x | rl.transpose if flip else x for x, flip in zip((A, B, C), flipped, strict=True)
        )
        rows = left | rl.drop(cut)
        rows = rows | rl.split(1) | rl.join if is_split else rows
        columns = right | rl.transpose

        def element(row: Any, column: Any, c: Any) -> Any:
            start = c if beta == 1.0 else 0.0
            total = rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, start)
            value = alpha * total + beta * c if beta == 3.0 else alpha * total
            if after == "relu":
                value = rl.max(value, 0.25)
            return value * value if after == "square" else value

        return rl.zip(rows, added) | loop(
            lambda row, others: (
                rl.zip(columns, others) | rl.map(lambda column, c: element(row, column, c))
            )
        )

    function.__annotations__ = {
        name: rl.Array[(*shape, type)] for name, shape in zip("ABC", shapes, strict=True)
    }
    source = np.random.default_rng(rng.randrange(2**32))
    dtype = np.float32 if type is rl.f32 else np.float64
    return function, [source.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.rotating(2)
@seeds(16, nightly=48, fuzzed=2000, batch=16)
def test_library_calls_agree_with_loops(seeds: range, ran: Ran) -> None:
    raised = 0
    for seed in seeds:
        function, arrays = contraction(random.Random(seed))
        kernel = rl.jit(function, library="blas")
        raised += " calls " in kernel.lower(*arrays).as_text("library")
        found, expected = kernel(*arrays), rl.jit(function, float="strict")(*arrays)
        tolerance = 1e-3 if found.dtype == np.float32 else 1e-10
        assert np.allclose(found, expected, tolerance, tolerance), seed
    assert raised > len(seeds) // 4
    ran("programs: library calls = loops", len(seeds))
