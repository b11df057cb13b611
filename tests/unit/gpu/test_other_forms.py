"""Programs that come in other forms than notation, and files, as kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.compiler.gpu_code import GpuCode
from riselang.compiler.lowered_module import LoweredModule
from riselang.native import cuda
from support.emulated_gpu import EmulatedGpu

LAYER = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x40xf32>) -> tensor<4x40xf32> {
  %product = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x8xf32>, tensor<8x40xf32>) -> tensor<4x40xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<4x40xf32>
  %largest = stablehlo.maximum %product, %zero : tensor<4x40xf32>
  return %largest : tensor<4x40xf32>
}
"""
MODULE = """
func.func @twice(%out : memref<300xf32>, %x : memref<300xf32>) {
  %x0 = rise.in %x : !rise.array<300, scalar<f32>>
  %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
    %r = rise.embed(%e) {
      %s = arith.addf %e, %e : f32
      rise.return %s : f32
    } : !rise.scalar<f32>
    rise.return %r : !rise.scalar<f32>
  }
  %m = rise.mapPar #rise.nat<300> #rise.scalar<f32> #rise.scalar<f32>
  %y = rise.apply %m, %f, %x0
  rise.out %out <- %y
  return
}
"""


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[EmulatedGpu]:
    """A GPU for each program, in the order in which they are compiled."""
    made: list[EmulatedGpu] = []
    before = GpuCode.__init__

    def noted(self: GpuCode, lowered: LoweredModule) -> None:
        before(self, lowered)
        made.append(EmulatedGpu(self))

    monkeypatch.setattr(GpuCode, "__init__", noted)
    monkeypatch.setattr(cuda, "driver", lambda: made[-1])
    monkeypatch.setenv("RISE_CACHE", "0")
    return made


def test_a_model(gpus: list[EmulatedGpu]) -> None:
    source = np.random.default_rng(3)
    x = source.standard_normal((4, 8)).astype(np.float32)
    w = source.standard_normal((8, 40)).astype(np.float32)
    result = rl.from_stablehlo(LAYER, loops="gpu", float="contract")(x, w)
    expected = rl.from_stablehlo(LAYER, backend="interpret", float="contract")(x, w)
    assert np.array_equal(result, expected)
    assert max(block[0] for _, _, block in gpus[-1].launched) >= 32


def test_a_module(gpus: list[EmulatedGpu]) -> None:
    x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    rl.loads(MODULE, loops="gpu").twice(out, x)
    assert np.array_equal(out, 2 * x)
    assert gpus[-1].launched == [("twice_0", (2, 1, 1), (256, 1, 1))]


PARTS = """
func.func @parts(%out : memref<8xf32>, %x : memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %e = memref.load %x[%i] : memref<8xf32>
    memref.store %e, %out[%i] : memref<8xf32>
  }
  return
}
"""


def test_what_is_written_in_part_keeps_the_rest() -> None:
    x, out = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    rl.loads(PARTS, loops="gpu").parts(out, x)
    assert out.tolist() == [0, 1, 2, -1, -1, -1, -1, -1]


def test_what_is_elsewhere_cannot_be_called() -> None:
    text = """
    func.func private @outside(f32) -> f32
    func.func public @f(%out : memref<1xf32>) {
      %one = arith.constant 1.0 : f32
      %c0 = arith.constant 0 : index
      %r = func.call @outside(%one) : (f32) -> f32
      memref.store %r, %out[%c0] : memref<1xf32>
      return
    }
    """
    with pytest.raises(rl.LimitationError, match="outside is defined elsewhere"):
        rl.loads(text, loops="gpu").f(np.zeros(1, np.float32))


@pytest.mark.rotating(3)
def test_many_kernels(gpus: list[EmulatedGpu]) -> None:
    """Parts of long functions become functions elsewhere, which the host could not launch."""

    @rl.jit(loops="gpu", strategy="none")
    def many(x: rl.Array["N", rl.f32]) -> Any:
        for _ in range(80):
            x = x | rl.map_par(lambda e: e + 1.0)
        return x

    assert many(np.zeros(3, np.float32)).tolist() == [80.0] * 3
    assert len(gpus[-1].launched) == 80


def test_a_file(tmp_path: Path) -> None:
    @rl.jit(loops="gpu")
    def halved(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda e: e * 0.5)

    path = tmp_path / "halved.kernel"
    x = np.arange(40, dtype=np.float32)
    halved.lower(x).compile().save(path)
    loaded: Any = rl.load(path)
    assert np.array_equal(loaded(x), x / 2)


def test_libraries_of_processors_are_none_of_a_gpu() -> None:
    with pytest.raises(rl.UserError, match='needs loops="affine" or "polyhedral", but it is "gpu"'):
        rl.jit(lambda x: x, loops="gpu", library="blas")


def test_a_device_selects_kernels() -> None:
    doubled: Any = rl.jit(lambda x: x * 2.0, device="cuda:0")
    assert doubled.options.loops == "gpu"
    assert rl.jit(lambda x: x * 2.0, device="cpu").options.loops == "affine"
    with pytest.raises(rl.UserError, match=r"is 'cuda:1'; to use another GPU, set CUDA_VISIBLE"):
        rl.jit(lambda x: x, device="cuda:1")
    with pytest.raises(rl.UserError, match="exclude each other"):
        rl.jit(lambda x: x, device="cuda", loops="scf")
