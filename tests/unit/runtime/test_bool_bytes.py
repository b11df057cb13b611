"""Arrays of bools whose bytes are neither 0 nor 1, as masks of 0 and 255 are."""

from __future__ import annotations

from pathlib import Path
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


COUNT = "def main = fun((b : N.i1), b |> map(fun(e, cast[i32](e))) |> reduce(add, 0))"


class Exported:
    """The mask as an array of another library."""

    def __dlpack__(self, **options: Any) -> Any:
        return writable().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return writable().__dlpack_device__()


def writable() -> Any:
    copy = np.zeros(len(MASK), np.bool_)
    copy.view(np.uint8)[:] = MASK.view(np.uint8)
    return copy


def test_bools_of_a_file_and_of_another_library(tmp_path: Path) -> None:
    file = tmp_path / "mask"
    file.write_bytes(MASK.tobytes())
    assert call(COUNT, np.memmap(file, np.bool_, "r", shape=(5,)).view(np.ndarray)) == 4
    assert call(COUNT, Exported()) == 4


def test_bools_in_c_functions() -> None:
    function = rl.from_c(
        """void f(int n, _Bool b[n], double x[2], double y[n], int c[1]) {
          for (int i = 0; i < n; i++) {
            y[i] = x[b[i]];
            c[0] += b[i];
          }
        }"""
    )
    found, count = np.zeros(5), np.zeros(1, np.int32)
    function(5, writable(), np.array([10.0, 20.0]), found, count)
    assert found.tolist() == [10, 20, 20, 20, 20]
    assert count[0] == 4


def test_bools_in_stablehlo() -> None:
    text = """
    func.func @main(%b: tensor<5xi1>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %ints = stablehlo.convert %b : (tensor<5xi1>) -> tensor<5xi32>
      %sum = stablehlo.reduce(%ints init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
      return %sum : tensor<i32>
    }
    """
    assert rl.from_stablehlo(text)(MASK) == 4
