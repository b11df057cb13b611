"""Each op of StableHLO is registered once, is tested, and fails with its name and location."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import riselang as rl
from riselang.frontends.stablehlo import lowering, ops
from riselang.frontends.stablehlo.ops.bitwise import BITCAST_PARTS
from riselang.frontends.stablehlo.registry import (
    ELEMENTWISE_LOWERINGS,
    SUPPORTED_OPS,
    TENSOR_LOWERINGS,
    lowers_elementwise,
    lowers_op,
)
from riselang.frontends.stablehlo.tensors import Tensor, whole_tensor, zero_tensor
from riselang.support.errors import InternalError
from support import random_stablehlo
from support.stablehlo_functions import BINARY, CHLO, UNARY, cases

FOLDER = Path(__file__).parent
PARTS_OF_OPS = {"cumulative_windows", "lu_decomposition", "random_bits", "window_views"}
"""Modules of `ops/` that register nothing: others use them."""


def is_written(name: str, text: str) -> bool:
    """Whether a text has an op, and not only a longer name that begins with it."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text) is not None


def text_of(name: str) -> str:
    """What the text of a program that has an op has in it."""
    if name == BITCAST_PARTS:
        return "stablehlo.bitcast_convert"
    # Tests of LAPACK calls give the name of the function to a helper.
    return name.removeprefix("stablehlo.custom_call @")


def untested(names: Iterable[str], texts: Sequence[str]) -> list[str]:
    """The ops that no table and no text has."""
    made = [name for table in (UNARY, BINARY) for _, name in cases(table)]
    made += [name.rstrip("_") for name in random_stablehlo.MAKERS]
    tested = {f"stablehlo.{name}" for name in made} | {f"chlo.{name}" for name in CHLO}
    return [
        name
        for name in names
        if name not in tested and not any(is_written(text_of(name), text) for text in texts)
    ]


def test_each_op_is_in_a_test() -> None:
    texts = [path.read_text() for path in FOLDER.glob("test_stablehlo_*.py")]
    missing = untested((*TENSOR_LOWERINGS, *ELEMENTWISE_LOWERINGS), texts)
    assert not missing, (
        f"no test has {', '.join(missing)}: add a test with the op to test_stablehlo_ops.py, its "
        "name to tests/support/stablehlo_functions.py, or a function that makes random ones to "
        "tests/support/random_stablehlo.py"
    )


def test_a_longer_name_is_another_op() -> None:
    texts = ["%0 = stablehlo.dot_general %x, %y", '"stablehlo.maps"(%x)', "chlo.stablehlo.rng %x"]
    names = ["stablehlo.dot", "stablehlo.map", "stablehlo.rng", "stablehlo.add"]
    assert untested(names, texts) == ["stablehlo.dot", "stablehlo.map", "stablehlo.rng"]
    assert untested(["stablehlo.dot"], ['%0 = "stablehlo.dot"(%x)']) == []


def test_each_module_of_ops_is_imported() -> None:
    files = {path.stem for path in Path(ops.__path__[0]).glob("*.py")} - {"__init__"}
    imported = {module.__name__.rpartition(".")[2] for module in lowering.OP_MODULES}
    assert files - imported == PARTS_OF_OPS, "add a new module of ops/ to OP_MODULES in lowering.py"
    for name in PARTS_OF_OPS:
        text = (Path(ops.__path__[0]) / f"{name}.py").read_text()
        assert "@lowers_" not in text, f"{name} registers ops: add it to OP_MODULES in lowering.py"


# Errors

TRIAL = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %x : tensor<4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def imported(monkeypatch: pytest.MonkeyPatch, op: str, function: Callable[..., Any]) -> str:
    """The error of a program that has an op with this lowering function."""
    table: dict[str, Any] = TENSOR_LOWERINGS if op in TENSOR_LOWERINGS else ELEMENTWISE_LOWERINGS
    monkeypatch.setitem(table, op, function)
    with pytest.raises(InternalError) as caught:
        rl.from_stablehlo(TRIAL).as_text()
    assert caught.value.location is not None
    assert caught.value.location.line == (3 if op == "stablehlo.reverse" else 2)
    return caught.value.message


def fail(*_: Any) -> Any:
    assert {}["x"]


@pytest.mark.parametrize("op", ["stablehlo.reverse", "stablehlo.abs"])
def test_a_defect_of_a_lowering_function_is_located(
    monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    assert imported(monkeypatch, op, fail) == f"the lowering of {op} failed with KeyError: 'x'"


def test_a_result_of_another_shape_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def shorten(lower: Any, op: Any, operands: Sequence[Tensor]) -> Tensor:
        return zero_tensor(lower.builder, operands[0].element, (3,))

    assert imported(monkeypatch, "stablehlo.reverse", shorten) == (
        "the lowering of stablehlo.reverse returns 3.f32, but the op declares 4.f32"
    )


def test_an_array_of_another_shape_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def shorten(lower: Any, op: Any, operands: Sequence[Tensor]) -> Tensor:
        node = zero_tensor(lower.builder, operands[0].element, (3,)).make()
        return whole_tensor(op.result.element, op.result.shape, node)

    assert imported(monkeypatch, "stablehlo.reverse", shorten) == (
        "the lowering of stablehlo.reverse returns an array of type 3.f32 for a tensor that needs "
        "4.f32"
    )


def test_too_few_results_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported(monkeypatch, "stablehlo.reverse", lambda *_: []) == (
        "the lowering of stablehlo.reverse returns nothing, but the op declares 4.f32"
    )


@pytest.mark.parametrize("register", [lowers_op, lowers_elementwise])
@pytest.mark.parametrize("name", ["stablehlo.reverse", "stablehlo.abs"])
def test_an_op_is_registered_once(name: str, register: Any) -> None:
    before = dict(SUPPORTED_OPS)
    with pytest.raises(InternalError, match=rf"fail lowers {name}, but so does riselang.*: remove"):
        register(name, summary="nothing")(fail)
    assert before == SUPPORTED_OPS
