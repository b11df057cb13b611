"""`rl.load`: functions of MLIR files, called with arrays that are written in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.api.load import LoadedModule

SCALE = """
func.func @scale(%out : memref<4xf32>, %a : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %two = arith.constant 2.0 : f32
        %p = arith.mulf %e, %two : f32
        rise.return %p : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %m = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y = rise.apply %m, %f, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}
func.func @fill(%out : memref<4xf32>, %value : f32) {
  affine.for %i = 0 to 4 {
    affine.store %value, %out[%i] : memref<4xf32>
  }
  func.return
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> LoadedModule:
    path: Path = tmp_path_factory.mktemp("load") / "scale.mlir"
    path.write_text(SCALE)
    return rl.load(path, float="strict")


def test_results_are_written_in_place(module: LoadedModule) -> None:
    out = np.zeros(4, np.float32)
    module.scale(out, np.array([1, 2, 3, 4], np.float32))
    assert out.tolist() == [2, 4, 6, 8]


def test_functions_without_rise_and_scalars_by_value(module: LoadedModule) -> None:
    out = np.zeros(4, np.float32)
    module.fill(out, 1.5)
    assert out.tolist() == [1.5] * 4


def test_bad_calls(module: LoadedModule) -> None:
    x = np.zeros(4, np.float32)
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    for arguments, message in [
        ((x,), "scale takes 2 arguments, but 1 are given"),
        ((np.zeros(5, np.float32), x), "argument out: expected shape (4,), but found (5,)"),
        ((np.zeros(4), x), "argument out: expected dtype float32"),
        ((read_only, x), "argument out: results are written to it, but it is read-only"),
        ((x, x), "arguments out and a share memory, and out is written"),
        ((np.zeros(8, np.float32)[::2], x), "argument out: expected a C-contiguous array"),
    ]:
        with pytest.raises(rl.UserError) as caught:
            module.scale(*arguments)
        assert message in str(caught.value)
    with pytest.raises(rl.UserError, match="argument value: expected a scalar"):
        module.fill(np.zeros(4, np.float32), "one")


def test_an_unknown_function_lists_the_known_ones(module: LoadedModule) -> None:
    with pytest.raises(AttributeError, match="has no function nothing; it has: scale, fill"):
        module.nothing  # noqa: B018


def test_a_buffer_that_is_read_and_written_is_read_first() -> None:
    text = """
    func.func @flip(%m : memref<3x3xf32>) {
      rise.lowering_unit {
        %x = rise.in %m : !rise.array<3, array<3, scalar<f32>>>
        %t = rise.transpose #rise.nat<3> #rise.nat<3> #rise.scalar<f32>
        %y = rise.apply %t, %x
        rise.out %m <- %y
        rise.return
      }
      func.return
    }
    """
    m = np.arange(9, dtype=np.float32).reshape(3, 3)
    rl.loads(text).flip(m)
    assert np.array_equal(m, np.arange(9, dtype=np.float32).reshape(3, 3).T)


def test_missing_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(rl.UserError, match="cannot be read"):
        rl.load(tmp_path / "none.mlir")
    with pytest.raises(rl.UserError) as caught:
        rl.loads("func.func @f() {\n  rise.nonsense\n}", name="broken.mlir")
    assert str(caught.value).startswith("broken.mlir:2:3: error: ")
