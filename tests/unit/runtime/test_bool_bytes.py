"""Arrays of bools whose bytes are neither 0 nor 1, as masks of 0 and 255 are."""

from __future__ import annotations

from typing import Any

import numpy as np

import riselang as rl

MASK = np.frombuffer(bytes([0, 1, 2, 255, 254]), dtype=np.bool_)


def call(text: str, *arguments: Any, **options: Any) -> Any:
    program: Any = rl.loads(text, name="a.rise", **options)
    return program.main(*arguments)


def test_an_index_made_of_a_bool_stays_in_range() -> None:
    text = (
        "def main = fun((b : N.i1, x : 2.f32), "
        "b |> map(fun(e, x |> at(clampIdx(2, cast[i32](e))))))"
    )
    given = np.array([10, 20], np.float32)
    for backend in ("compile", "interpret"):
        assert call(text, MASK, given, backend=backend).tolist() == [10, 20, 20, 20, 20]


def test_every_byte_but_0_counts_as_one() -> None:
    text = "def main = fun((b : N.i1), b |> map(fun(e, cast[i32](e))) |> reduce(add, 0))"
    assert call(text, MASK) == 4


def test_results_are_zeros_and_ones() -> None:
    text = "def main = fun((b : N.i1), b |> map(fun(e, e)))"
    result = call(text, MASK)
    assert result.view(np.uint8).tolist() == [0, 1, 1, 1, 1]
    assert np.array_equal(np.logical_not(result), np.logical_not(MASK))


def test_bools_in_mlir_functions() -> None:
    text = """
    func.func @count(%out: memref<1xi32>, %b: memref<5xi1>) {
      %zero = arith.constant 0 : i32
      %sum = affine.for %i = 0 to 5 iter_args(%s = %zero) -> (i32) {
        %bit = affine.load %b[%i] : memref<5xi1>
        %one = arith.extui %bit : i1 to i32
        %next = arith.addi %s, %one : i32
        affine.yield %next : i32
      }
      affine.store %sum, %out[0] : memref<1xi32>
      return
    }
    """
    out = np.zeros(1, np.int32)
    rl.loads(text, name="a.mlir").count(out, MASK)
    assert out[0] == 4
