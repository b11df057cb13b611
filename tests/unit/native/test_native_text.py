"""What native MLIR is given: all of a module, in a form that it reads."""

from __future__ import annotations

import pytest

from riselang.dialects.module import parse_module
from riselang.native.mlir import bindings as mlir
from riselang.native.mlir.generic_printer import native_text

ZEROS = """func.func @zeros() -> (f32, f32) {
  %0 = arith.constant 0.0 : f32
  %1 = arith.constant -0.0 : f32
  return %0, %1 : f32, f32
}"""
BRANCHES = """func.func @branches(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^left(%a : i32), ^right
^left(%b: i32):
  return %b : i32
^right:
  %0 = arith.constant 1 : i32
  return %0 : i32
}"""
ATTRIBUTES = """func.func private @given(i32) -> (i32, f32) attributes {"a name" = 1 : i64, flag}
module {
  func.func @calls(%a: i32) -> f32 {
    %0:2 = func.call @given(%a) {note = "a \\"text\\""} : (i32) -> (i32, f32)
    return %0#1 : f32
  }
  func.func private @given(i32) -> (i32, f32)
}"""
NAMED = """func.func @named(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  return
}"""


def text_of(source: str) -> str:
    return native_text(parse_module(source))


def test_zeros_keep_their_signs() -> None:
    text = text_of(ZEROS)
    assert "-0.0" in text
    assert " 0.0" in text.replace("-0.0", "")


@pytest.mark.parametrize("source", [ZEROS, BRANCHES, ATTRIBUTES, NAMED])
@pytest.mark.parametrize("locations", [False, True])
def test_mlir_reads_it(source: str, locations: bool) -> None:
    mlir.verify(native_text(parse_module(source), locations=locations))


def test_the_same_text_says_the_same() -> None:
    """What MLIR makes of it is what it makes of the source."""
    for source in (ZEROS, BRANCHES, ATTRIBUTES):
        assert mlir.run_passes(text_of(source), ()) == mlir.run_passes(source, ())
