"""The pass from StableHLO to RISE, and the form in which xDSL reads StableHLO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.mlir.stablehlo_text import has_stablehlo, to_generic_form
from riselang.tools import rise_opt

SOFT = """
func.func @main(%x: tensor<2x3xf32> loc("x")) -> tensor<2x3xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %low = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %wide = stablehlo.broadcast_in_dim %low, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %y = stablehlo.subtract %x, %wide : tensor<2x3xf32>
  %t = stablehlo.constant dense<[[0.1, 0x7F800000, -0.0], [1.0e-40, 3.0, 0xFFC00000]]>
    : tensor<2x3xf32>
  %z = stablehlo.minimum %y, %t : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
PLAIN = SOFT.replace("  %z = stablehlo.minimum %y, %t : tensor<2x3xf32>\n", "")
PARTITION = """
func.func @main() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}
"""


def converted(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = folder / "model.mlir"
    file.write_text(text)
    rise_opt.main([str(file), "-p", "convert-stablehlo-to-rise"])
    return capsys.readouterr().out


@pytest.mark.rotating(3)
def test_the_pass_gives_a_module_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = converted(PLAIN.replace("%t = ", "%unused = "), tmp_path, capsys)
    module: Any = rl.loads(text, name="model.mlir")
    x = np.array([[1, 5, 2], [-3, -4, -8]], np.float32)
    out = np.empty_like(x)
    module.main(out, x)
    np.testing.assert_array_equal(out, x - x.max(axis=1, keepdims=True))


def test_floats_keep_their_bits() -> None:
    shown = to_generic_form(SOFT, "soft.mlir")
    numbers = np.array([0.1, np.inf, -0.0, 1e-40, 3, 0], np.float32).tobytes()[:-4]
    assert f"{numbers.hex().upper()}0000C0FF" in shown
    assert 'dense<"0x000080FF"> : tensor<f32>' in shown
    assert has_stablehlo(SOFT)
    assert not has_stablehlo("// stablehlo.add is no op here\nfunc.func @f() { return }")


def test_what_is_not_supported_is_rejected_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        converted(PARTITION, tmp_path, capsys)
    assert refused.value.code == 1
    assert "stablehlo.partition_id is not supported" in capsys.readouterr().err


def test_a_module_without_stablehlo_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = converted("func.func @f() { return }", tmp_path, capsys)
    assert "func.func @f()" in text
