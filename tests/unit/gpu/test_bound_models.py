"""Models with bound arguments on a GPU: what depends only on these is computed once."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from support.emulated_gpu import EmulatedGpu

TEXT = """
func.func @main(%w: tensor<64xf32>, %x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = stablehlo.sqrt %w : tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<64xf32>) -> tensor<4x64xf32>
  %2 = stablehlo.add %x, %1 : tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}
"""


@pytest.mark.rotating(3)
def test_values_of_bound_arguments_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_CACHE", "0")
    source = np.random.default_rng(0)
    w, x = source.random(64, np.float32), source.random((4, 64), np.float32)
    model = rl.from_stablehlo(TEXT, loops="gpu").bind(w)
    parts = model.lower().split_by_known_parameters("known", 2, {0})
    assert parts is not None
    first, second = (each.compilation.gpu for each in parts)
    gpu = EmulatedGpu(first, [second])
    monkeypatch.setattr("riselang.native.cuda.driver", lambda: gpu)
    for _ in range(2):
        assert np.array_equal(model(x), x + np.sqrt(w))
    assert [name.partition("_")[0] for name, _, _ in gpu.launched] == ["known", "main", "main"]
