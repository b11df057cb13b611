"""Compositions that are BLAS routines, in any form, become calls of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import UserError
from riselang.native.llvm import shared_libraries as libraries

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.random(shape).astype(dtype)


def dot(x: Any, y: Any) -> Any:
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


def product(A: Any, B: Any) -> Any:
    return A | rl.map(lambda row: B | rl.transpose | rl.map(lambda column: dot(row, column)))


def gemm(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return product(A, B)


def fused(A: rl.Array["N", "K", rl.f64], B: rl.Array["K", "M", rl.f64]) -> Any:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(
                lambda column: (
                    rl.zip(row, column)
                    | rl.reduce(lambda sum, pair: sum + rl.fst(pair) * rl.snd(pair), 0.0)
                )
            )
        )
    )


def scaled(
    A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32], C: rl.Array["N", "M", rl.f32],
    alpha: rl.f32, beta: rl.f32,
) -> Any:  # fmt: skip
    return rl.zip(product(A, B), C) | rl.map(
        lambda row, other: rl.zip(row, other)
        | rl.map(lambda x, c: alpha * x * 2.0 - beta * c)
    )  # fmt: skip


def from_c(
    A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32], C: rl.Array["N", "M", rl.f32]
) -> Any:
    """The sum begins with an element of C."""
    return rl.zip(A, C) | rl.map(
        lambda row, others: rl.zip(B | rl.transpose, others)
        | rl.map(
            lambda column, c: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, c)
        )
    )  # fmt: skip


def both_transposed(A: rl.Array["K", "N", rl.f32], B: rl.Array["M", "K", rl.f32]) -> Any:
    return product(A | rl.transpose, B | rl.transpose)


def result_transposed(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return product(A, B) | rl.transpose


def in_parallel(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return A | rl.map_par(
        lambda row: B | rl.transpose | rl.map_seq(lambda column: dot(row, column))
    )


def tiled(A: rl.Array[8, 16, rl.f32], B: rl.Array[16, 6, rl.f32]) -> Any:
    def summed(row: Any, column: Any) -> Any:
        chunks = rl.zip(row, column) | rl.split(4) | rl.map(rl.map(rl.mult))
        return chunks | rl.map(rl.reduce(rl.add, 0.0)) | rl.reduce(rl.add, 0.0)

    def columns(row: Any) -> Any:
        tiles = B | rl.transpose | rl.split(2)
        return tiles | rl.map(rl.map(lambda column: summed(row, column))) | rl.join

    return A | rl.split(4) | rl.map(rl.map(columns)) | rl.join


def of_a_part(A: rl.Array[9, 8, rl.f32], B: rl.Array[5, 7, rl.f32]) -> Any:
    rows = A | rl.drop(2) | rl.map(lambda row: row | rl.drop(1) | rl.take(5))
    return product(rows, B)


def batched(A: rl.Array["P", "N", "K", rl.f32], B: rl.Array["P", "K", "M", rl.f32]) -> Any:
    return rl.zip(A, B) | rl.map(product)


def one_factor_for_all(A: rl.Array["P", "N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return A | rl.map(lambda rows: product(rows, B))


def then_more(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return product(A, B) | rl.map(rl.map(lambda x: rl.max(x - 1.0, 0.0)))


def two_layers(
    A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32], C: rl.Array["M", "L", rl.f32]
) -> Any:
    return product(product(A, B) | rl.map(rl.map(lambda x: rl.max(x - 1.0, 0.0))), C)


def gemv(A: rl.Array["N", "K", rl.f64], x: rl.Array["K", rl.f64]) -> Any:
    return A | rl.map(lambda row: dot(row, x))


def gemv_transposed(A: rl.Array["K", "N", rl.f32], x: rl.Array["K", rl.f32]) -> Any:
    return A | rl.transpose | rl.map(lambda column: dot(column, x))


def gemv_added(
    A: rl.Array["N", "K", rl.f32], x: rl.Array["K", rl.f32], y: rl.Array["N", rl.f32]
) -> Any:
    return rl.zip(A, y) | rl.map(lambda row, b: 3.0 * dot(row, x) + b)


def ger(x: rl.Array["N", rl.f32], y: rl.Array["M", rl.f32]) -> Any:
    return x | rl.map(lambda a: y | rl.map(lambda b: a * b))


def ger_added(
    x: rl.Array["N", rl.f32], y: rl.Array["M", rl.f32], C: rl.Array["N", "M", rl.f32]
) -> Any:
    return rl.zip(x, C) | rl.map(
        lambda a, row: rl.zip(y, row) | rl.map(lambda b, c: a * b + c)
    )  # fmt: skip


def inner(x: rl.Array["N", rl.f64], y: rl.Array["N", rl.f64]) -> Any:
    return dot(x, y)


def every_second(x: rl.Array[5, rl.f32], y: rl.Array[3, rl.f32]) -> Any:
    return dot(x | rl.slide(1, 2) | rl.join, y)


def axpy(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32], a: rl.f32) -> Any:
    return rl.zip(x, y) | rl.map(lambda p, q: q + a * p)


def axpy_of_matrices(x: rl.Array["N", "M", rl.f32], y: rl.Array["N", "M", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda p, q: rl.zip(p, q) | rl.map(lambda a, b: b - 2.0 * a))


def nrm2(x: rl.Array["N", rl.f32]) -> Any:
    return rl.math.sqrt(x | rl.map(lambda a: a * a) | rl.reduce(rl.add, 0.0))


def relu(x: Array) -> Array:
    return np.maximum(x - 1, 0)


A, B, C = random(4, 5), random(5, 6), random(4, 6)
MATRICES, OTHERS = random(3, 4, 5), random(3, 5, 6)
X, Y = random(4), random(6)

FORMS: list[tuple[Callable[..., Any], list[Any], Any, str]] = [
    (gemm, [A, B], A @ B, "gemm 4x6x5"),
    (fused, [A.astype(float), B.astype(float)], A.astype(float) @ B.astype(float), "gemm 4x6x5"),
    (scaled, [A, B, C, 1.5, 0.5], 3 * (A @ B) - 0.5 * C, "gemm 4x6x5"),
    (from_c, [A, B, C], A @ B + C, "gemm 4x6x5"),
    (both_transposed, [A.T.copy(), B.T.copy()], A @ B, "gemm 4x6x5"),
    (result_transposed, [A, B], (A @ B).T, "gemm 6x4x5"),
    (in_parallel, [A, B], A @ B, "gemm 4x6x5"),
    (tiled, [T := random(8, 16), S := random(16, 6)], T @ S, "gemm 8x6x16"),
    (of_a_part, [P := random(9, 8), Q := random(5, 7)], P[2:, 1:6] @ Q, "gemm 7x7x5"),
    (batched, [MATRICES, OTHERS], MATRICES @ OTHERS, "gemm 4x6x5, 3 times"),
    (one_factor_for_all, [MATRICES, B], MATRICES @ B, "gemm 12x6x5"),
    (then_more, [A, B], relu(A @ B), "gemm 4x6x5"),
    (two_layers, [A, B, D := random(6, 7)], relu(A @ B) @ D, "gemm 4x6x5, gemm 4x7x6"),
    (gemv, [A.astype(float), np.ones(5)], A.astype(float) @ np.ones(5), "gemv 4x5"),
    (gemv_transposed, [A, X], A.T @ X, "gemv 5x4"),
    (gemv_added, [A, V := random(5), X], 3 * (A @ V) + X, "gemv 4x5"),
    (ger, [X, Y], np.outer(X, Y), "ger 4x6"),
    (ger_added, [X, Y, C], np.outer(X, Y) + C, "ger 4x6"),
    (inner, [X.astype(float), np.ones(4)], X.astype(float).sum(), "dot 4"),
    (every_second, [V[:5], U := random(3)], V[:5:2] @ U, "dot 3"),
    (axpy, [X, X[::-1].copy(), 3.0], 3 * X + X[::-1], "axpy 4"),
    (axpy_of_matrices, [A, A[::-1].copy()], A[::-1] - 2 * A, "axpy 20"),
    (nrm2, [X], np.linalg.norm(X), "nrm2 4"),
]


def calls(kernel: Any, *arrays: Any) -> str:
    lines = kernel.lower(*arrays).as_text("library").splitlines()
    return ", ".join(line.split(" calls ")[1] for line in lines if " calls " in line)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("function", "arrays", "expected", "routine"), FORMS, ids=[form[0].__name__ for form in FORMS]
)
def test_forms(function: Any, arrays: list[Any], expected: Any, routine: str) -> None:
    kernel = rl.jit(function, library="blas")
    assert calls(kernel, *arrays) == routine
    tolerance = 1e-12 if np.asarray(expected).dtype == np.float64 else 1e-4
    assert np.allclose(kernel(*arrays), expected, rtol=tolerance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_sizes(seed: int) -> None:
    """Lengths of one and nothing among them; what is not raised is computed by loops."""
    rng = np.random.default_rng(seed)
    N, K, M = (int(length) for length in rng.choice([0, 1, 2, 3, 17, 40], 3))
    left, right, others = (rng.random(s, np.float32) for s in ((N, K), (K, M), (N, M)))
    kernel = rl.jit(scaled, library="blas")
    expected = 1.5 * 2 * (left @ right) - 0.5 * others
    assert np.allclose(kernel(left, right, others, 1.5, 0.5), expected, rtol=1e-3)


def near(function: Any, *arrays: Any) -> str:
    return rl.jit(function, library="blas").lower(*arrays).as_text("library")


def test_what_nearly_is_a_call_is_told() -> None:
    def windows(x: rl.Array[8, rl.f32], w: rl.Array[3, rl.f32]) -> Any:
        return x | rl.slide(3, 1) | rl.map(lambda window: dot(window, w))

    def row_by_row(A: rl.Array["N", "K", rl.f32], B: rl.Array["N", "K", rl.f32]) -> Any:
        return rl.zip(A, B) | rl.map(dot)

    def integers(A: rl.Array[4, 5, rl.i32], B: rl.Array[5, 6, rl.i32]) -> Any:
        return A | rl.map(
            lambda row: (
                B
                | rl.transpose
                | rl.map(
                    lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0)
                )
            )
        )

    def backwards(x: rl.Array[40, rl.f32], y: rl.Array[40, rl.f32]) -> Any:
        return dot(x | rl.reverse, y)

    assert "rows nor the columns of the matrix are contiguous" in near(windows)
    assert "a dot product for every index" in near(row_by_row, A, A)
    assert "calls dot 100" in near(row_by_row, random(4, 100), random(4, 100))
    assert "it has arith.addi" in near(integers)
    assert "negative or zero stride" in near(backwards)


def test_a_loop_that_stores_is_no_sum() -> None:
    """A scan adds up products like a dot, but every step of it is a result."""

    def sums(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
        return rl.zip(x, y) | rl.map(rl.mult) | rl.scan(rl.add, 0.0)

    x = np.ones(40, np.float32)
    assert "it has other effects than the reduction" in near(sums, x, x)
    assert np.array_equal(rl.jit(sums, library="blas")(x, x), np.arange(1, 41))

    def rows(A: rl.Array["N", "K", rl.f32], y: rl.Array["K", rl.f32]) -> Any:
        return A | rl.map(lambda row: sums(row, y))

    matrix = np.ones((3, 40), np.float32)
    assert np.array_equal(rl.jit(rows, library="blas")(matrix, x)[2], np.arange(1, 41))


OVERLAPPING = """
func.func @sums(%out: memref<9xf32> {llvm.noalias}, %A: memref<4x3xf32>, %B: memref<5x3xf32>) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      %s = affine.for %k = 0 to 3 iter_args(%acc = %z) -> (f32) {
        %a = affine.load %A[%i, %k] : memref<4x3xf32>
        %b = affine.load %B[%j, %k] : memref<5x3xf32>
        %q = math.fma %a, %b, %acc : f32
        affine.yield %q : f32
      }
      affine.store %s, %out[%i + %j] : memref<9xf32>
    }
  }
  func.return
}"""


def test_iterations_that_write_the_same_element_are_left_alone() -> None:
    module: Any = rl.loads(OVERLAPPING, library="blas")
    assert "iterations may write the same element" in module.as_text("library")


def test_zero_times_an_element_is_not_nothing() -> None:
    def cancelled(A: rl.Array["N", "K", rl.f32], x: rl.Array["K", rl.f32]) -> Any:
        return A | rl.map(lambda row: 0.0 * dot(row, x))

    assert near(cancelled, A, B[:, 0].copy()).endswith("calls gemv 4x5\n")


TEMPORARY = """def main = fun((x : 40.f32, y : 40.f32),
  generate(fun(i : idx[40], i)) |> reduceSeq(fun(acc, fun(i,
    acc + ((y |> map(fun(b, b * (x |> at(i)))) |> toMem(heap)) |> at(i)) * (x |> at(i)))), 0.0))"""


def test_a_loop_that_fills_a_temporary_is_no_sum() -> None:
    program: Any = rl.loads(TEMPORARY, name="temporary.rise", library="blas")
    assert program.main(np.full(40, 2, np.float32), np.ones(40, np.float32)) == 160


PART = """
func.func @rows(%out: memref<4xf32> {llvm.noalias}, %B: memref<8x16xf32>, %x: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  %A = memref.subview %B[1, 2][4, 8][2, 1]
    : memref<8x16xf32> to memref<4x8xf32, strided<[32, 1], offset: 18>>
  affine.for %i = 0 to 4 {
    %s = affine.for %k = 0 to 8 iter_args(%acc = %z) -> (f32) {
      %a = affine.load %A[%i, %k] : memref<4x8xf32, strided<[32, 1], offset: 18>>
      %b = affine.load %x[%k] : memref<8xf32>
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %acc, %p : f32
      affine.yield %q : f32
    }
    affine.store %s, %out[%i] : memref<4xf32>
  }
  func.return
}"""


def test_a_view_of_a_buffer_is_left_alone() -> None:
    """Its strides are not those of its shape, and it may be a part of what is written."""
    module: Any = rl.loads(PART, library="blas")
    assert "a buffer is a part of another one" in module.as_text("library")
    whole, x = np.arange(128, dtype=np.float32).reshape(8, 16), np.arange(8, dtype=np.float32)
    out = np.zeros(4, np.float32)
    module.rows(out, whole, x)
    assert np.array_equal(out, whole[1::2, 2:10] @ x)


def test_loops_of_scf_are_not_looked_at() -> None:
    with pytest.raises(UserError, match='library="blas" needs loops="affine"'):
        rl.jit(gemm, library="blas", loops="scf")
    module: Any = rl.loads(PART, library="blas")
    assert module._options.loops == "affine"


def test_there_is_nothing_to_call() -> None:
    def plus_one(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a + 1.0)

    assert near(plus_one, X) == "no loop was found that a library routine could compute\n"


def test_places_are_in_the_report() -> None:
    text = "def main =\n  fun((x : 40.f32, y : 40.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))"
    program: Any = rl.loads(text, name="dot.rise", library="blas")
    assert program.as_text("library") == "dot.rise:2:59: main calls dot 40\n"


def test_the_permission_is_needed() -> None:
    with pytest.raises(UserError, match='library="blas" needs float="relaxed"'):
        rl.jit(gemm, library="blas", float="strict")
    with pytest.raises(UserError, match="library must be one of none, blas, but is 'mkl'"):
        rl.jit(gemm, library="mkl")
    assert rl.jit(gemm, library="blas").options.float == "relaxed"


def test_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    path = libraries.find_blas()
    assert path is not None
    monkeypatch.setenv("RISE_BLAS", path)
    assert libraries.find_blas() == path
    assert np.allclose(rl.jit(gemm, library="blas")(A, B), A @ B)
    monkeypatch.setenv("RISE_BLAS", "nowhere.so")
    with pytest.raises(
        UserError, match=r"needs blas \(nowhere.so\), which is not installed here; pip install"
    ):
        rl.jit(gemm, library="blas")(random(3, 3), random(3, 3))


THREADS = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np, riselang as rl
from test_library_calls import gemm
a = np.ones((300, 300), np.float32)
assert np.allclose(rl.jit(gemm, library="blas")(a, a), 300)
"""


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads(threads: str) -> None:
    script = THREADS.format(folder=os.path.dirname(__file__))
    environment = {**os.environ, "RISE_NUM_THREADS": threads}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
