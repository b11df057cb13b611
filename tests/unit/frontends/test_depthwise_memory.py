"""What depthwise convolutions of StableHLO store: the padded image, and the kernels as they read
them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import riselang as rl

TEXT = """func.func @main(%x: tensor<1x40x40x64xf32>, %k: tensor<3x3x1x64xf32>)
    -> tensor<1x40x40x64xf32> {
  %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 64 : i64}
    : (tensor<1x40x40x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x40x40x64xf32>
  %r = stablehlo.multiply %c, %c : tensor<1x40x40x64xf32>
  return RESULT : tensor<1x40x40x64xf32>
}"""


@pytest.mark.rotating(4)
@pytest.mark.parametrize("result", ["%c", "%r"])
def test_nothing_is_copied_without_need(result: str) -> None:
    model: Any = rl.from_stablehlo(TEXT.replace("RESULT", result))
    text = model.lower().as_text("affine")
    stored = set(re.findall(r"memref\.alloca?\(.*: memref<([0-9x]*)xf32>", text))
    assert {"42x42x64", "3x3x64"} <= stored
    # Neither the image before it is padded, nor the complete result, nor channels by channels.
    assert not {each for each in stored if each.startswith(("40x40", "1x40", "64x"))}
    source = np.random.default_rng(0)
    x = source.standard_normal((1, 40, 40, 64)).astype(np.float32)
    k = source.standard_normal((3, 3, 1, 64)).astype(np.float32)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    sums = sum(padded[:, i : i + 40, j : j + 40] * k[i, j, 0] for i in range(3) for j in range(3))
    expected = sums if result == "%c" else sums * sums
    np.testing.assert_allclose(model(x, k), expected, rtol=1e-4, atol=1e-4)
