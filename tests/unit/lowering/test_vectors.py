"""Vectors are cut, moved and joined; in memory they are arrays of scalars."""

from typing import Any

import numpy as np
from agreement import agree, text

import riselang as rl

X = np.arange(24, dtype=np.float32)


def test_vectors_are_moved_as_a_whole() -> None:
    def turned(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.as_vector(4) | rl.reverse | rl.as_scalar

    (found,) = agree(turned, X)
    assert np.array_equal(found, X.reshape(6, 4)[::-1].ravel())
    assert "memref.alloc" not in text(turned, X)


def test_a_scalar_many_times() -> None:
    def repeated(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map_par(lambda v: rl.vector_from_scalar(3, v * v)) | rl.as_scalar

    (found,) = agree(repeated, X, threads=(1, 2, 3))
    assert np.array_equal(found, np.repeat(X * X, 3))


def test_vectors_as_state_elements_and_results() -> None:
    def shuffled(x: rl.Array[24, rl.f32], k: rl.Array[6, rl.i64]) -> Any:
        vectors = x | rl.as_vector(4)
        picked = rl.gather(k | rl.map(rl.clamp_idx(6)), vectors)
        last = picked | rl.reduce(lambda v, acc: v, rl.vector_from_scalar(4, 0.0))
        pairs = rl.zip(k, picked) | rl.sort(lambda a, b: rl.fst(a) < rl.fst(b))
        return rl.tuple(
            rl.concat(picked | rl.scan(lambda v, acc: v, last), vectors) | rl.as_scalar,
            rl.snd(rl.unzip(pairs)) | rl.to_mem("heap") | rl.as_scalar,
        )

    agree(shuffled, X, np.array([5, 1, 1, 0, 9, 2], np.int64))


def test_vectors_in_the_buffers_of_a_function() -> None:
    text = """
    func.func @f(%out : memref<3x4xf32>, %in : memref<3x4xf32>) {
      rise.lowering_unit {
        %xs = rise.in %in : !rise.array<3, vector<4, scalar<f32>>>
        %reverse = rise.reverse #rise.nat<3> #rise.vector<4, scalar<f32>>
        %ys = rise.apply %reverse, %xs
        rise.out %out <- %ys
        rise.return
      }
      func.return
    }
    """
    x, out = X[:12].reshape(3, 4).copy(), np.zeros((3, 4), np.float32)
    for loops in ("affine", "scf"):
        rl.loads(text, loops=loops).f(out, x)
        assert np.array_equal(out, x[::-1])
