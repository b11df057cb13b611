"""PyTorch modules, from what its importer makes of them on: no PyTorch is needed for that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.mlir.torch_modules import TORCH_PASSES, convert_to_stablehlo

REMAINDER = """
func.func @main(%x: TYPE, %y: TYPE) -> TYPE {
  %0 = torch.aten.remainder.Tensor %x, %y : TYPE, TYPE -> TYPE
  return %0 : TYPE
}
"""
SCALAR = """
func.func @main(%x: TYPE) -> TYPE {
  %int = torch.constant.int -3
  %0 = torch.aten.remainder.Scalar %x, %int : TYPE, !torch.int -> TYPE
  return %0 : TYPE
}
"""
FMOD = REMAINDER.replace("remainder", "fmod").replace(
    "TYPE\n  return", 'TYPE loc("net.py":7:3)\n  return'
)


def run(model: str, element: str, *arguments: Any) -> Any:
    text = model.replace("TYPE", f"!torch.vtensor<[{len(arguments[0])}],{element}>")
    return rl.from_stablehlo(convert_to_stablehlo(text, TORCH_PASSES, "from_torch"))(*arguments)


X = np.array([-4.3, 7.2, 5.0, 4.3, -7.2, 8.0, -6.0], np.float32)
Y = np.array([2.1, -3.4, 8.0, -2.1, 3.4, 5.0, 3.0], np.float32)


@pytest.mark.parametrize(("dtype", "element"), [("f4", "f32"), ("i4", "si32"), ("u1", "ui8")])
def test_a_remainder_has_the_sign_of_the_divisor(dtype: str, element: str) -> None:
    x, y = (np.abs(each).astype(dtype) if dtype == "u1" else each.astype(dtype) for each in (X, Y))
    np.testing.assert_array_equal(run(REMAINDER, element, x, y), np.mod(x, y))
    if dtype != "u1":
        np.testing.assert_array_equal(run(SCALAR, element, x), np.mod(x, x.dtype.type(-3)))


def test_fmod_of_floats_is_rejected_with_name_and_location() -> None:
    with pytest.raises(rl.LimitationError) as caught:
        run(FMOD, "f32", X, Y)
    assert "from_torch: torch.aten.fmod.Tensor of floats is not supported" in caught.value.message
    assert str(caught.value.location) == "net.py:7:3"
    x, y = X.astype("i4"), Y.astype("i4")
    np.testing.assert_array_equal(run(FMOD, "si32", x, y), np.fmod(x, y))


def test_an_op_without_a_conversion_is_rejected_at_its_location() -> None:
    text = (
        "func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {\n"
        '  %0 = torch.operator "torch.aten.nonsense"(%x) : (!torch.vtensor<[4],f32>) '
        '-> !torch.vtensor<[4],f32> loc("net.py":3:5)\n'
        "  return %0 : !torch.vtensor<[4],f32>\n}\n"
    )
    with pytest.raises(
        rl.LimitationError, match=r"torch\.aten\.nonsense has no conversion"
    ) as caught:
        convert_to_stablehlo(text, TORCH_PASSES, "from_torch")
    assert str(caught.value.location) == "net.py:3:5"
