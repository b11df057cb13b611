"""RISE programs beside hand-written code of other dialects, in one module."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl

SQUARE = np.random.default_rng(1).uniform(-1, 1, (2, 4, 4)).astype(np.float32)

BESIDE = """
func.func private @helper(%x : f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %e = math.exp %x : f32
  %r = arith.mulf %e, %two : f32
  return %r : f32
}
func.func @f(%out : memref<4x4xf32>, %a : memref<4x4xf32>, %b : memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<4x4xf32>)
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32>)
  %t = memref.alloc() : memref<4x4xf32>
  rise.lowering_unit {
    %x = rise.in %out : !rise.array<4, array<4, scalar<f32>>>
    %tr = rise.transpose #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
    %y = rise.apply %tr, %x
    rise.out %t <- %y
    rise.return
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %t[%i, %j] : memref<4x4xf32>
      %w = func.call @helper(%v) : (f32) -> f32
      memref.store %w, %out[%i, %j] : memref<4x4xf32>
    }
  }
  memref.dealloc %t : memref<4x4xf32>
  return
}
"""
TENSORS = """
func.func @f(%out : memref<4x4xf32>, %a : memref<4x4xf32>, %b : memref<4x4xf32>) {
  %t = memref.alloc() : memref<4x4xf32>
  %x = rise.in %a : !rise.array<4, array<4, scalar<f32>>>
  %tr = rise.transpose #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
  %y = rise.apply %tr, %x
  rise.out %t <- %y
  %left = bufferization.to_tensor %t restrict : memref<4x4xf32> to tensor<4x4xf32>
  %right = bufferization.to_tensor %b restrict : memref<4x4xf32> to tensor<4x4xf32>
  %empty = tensor.empty() : tensor<4x4xf32>
  %sum = linalg.add ins(%left, %right : tensor<4x4xf32>, tensor<4x4xf32>) \
outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  bufferization.materialize_in_destination %sum in restrict writable %out \
: (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  memref.dealloc %t : memref<4x4xf32>
  return
}
"""
EMBEDDED = """
func.func @f(%out : memref<4x4xf32>, %a : memref<4x4xf32>, %b : memref<4x4xf32>) {
  %x = rise.in %a : !rise.array<4, array<4, scalar<f32>>>
  %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
    %r = rise.embed(%e) {
      %zero = arith.constant 0.0 : f32
      %is = arith.cmpf ogt, %e, %zero : f32
      %v = scf.if %is -> (f32) {
        scf.yield %e : f32
      } else {
        %n = arith.negf %e : f32
        scf.yield %n : f32
      }
      rise.return %v : f32
    } : !rise.scalar<f32>
    rise.return %r : !rise.scalar<f32>
  }
  %inner = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
  %row = rise.apply %inner, %f
  %outer = rise.mapSeq #rise.nat<4> #rise.array<4, scalar<f32>> #rise.array<4, scalar<f32>>
  %y = rise.apply %outer, %row, %x
  rise.out %out <- %y
  return
}
"""
LANES = """
func.func private @twice(%lanes : vector<4xf32>) -> vector<4xf32> {
  %r = arith.addf %lanes, %lanes : vector<4xf32>
  return %r : vector<4xf32>
}
func.func @f(%out : memref<4x4xf32>, %a : memref<4x4xf32>, %b : memref<4x4xf32>) {
  affine.for %i = 0 to 4 {
    %lanes = affine.vector_load %a[%i, 0] : memref<4x4xf32>, vector<4xf32>
    %sums = func.call @twice(%lanes) : (vector<4xf32>) -> vector<4xf32>
    affine.vector_store %sums, %out[%i, 0] : memref<4x4xf32>, vector<4xf32>
  }
  return
}
"""
PROGRAMS = {
    "linalg, memref, scf, math and calls": (BESIDE, lambda a, b: 2 * np.exp((a @ b).T)),
    "tensors": (TENSORS, lambda a, b: a.T + b),
    "vectors passed between functions": (LANES, lambda a, b: 2 * a),
    "scf in an embed": (EMBEDDED, lambda a, b: np.abs(a)),
}  # fmt: skip


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_dialects_run_in_the_same_module(name: str, loops: str) -> None:
    text, meaning = PROGRAMS[name]
    a, b = SQUARE
    out = np.zeros((4, 4), np.float32)
    rl.loads(text, loops=loops).f(out, a, b)
    assert np.allclose(out, meaning(a, b), rtol=1e-5)


def test_what_cannot_be_compiled_is_rejected() -> None:
    text = """
    func.func @f(%out : memref<4xf32>) {
      %t = "test.op"() : () -> f32
      return
    }
    """
    with pytest.raises(rl.RiseError):
        rl.loads(text).f(np.zeros(4, np.float32))
