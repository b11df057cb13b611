"""Models that leave lengths open, models in files, and models in the cache."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.stablehlo.model.model import Model
from riselang.native.mlir import stablehlo
from support import model_examples as examples

OPEN = """
func.func public @main(%x: tensor<?x3xf32> loc("x"), %b: tensor<3xf32> loc("b"))
    -> tensor<?x3xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %c = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%c, %n) {api_version = 2 : i32,
    error_message = "there must be rows, but there are {0}", has_side_effect = true}
    : (tensor<i1>, tensor<i32>) -> ()
  %m = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %s = stablehlo.concatenate %m, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %b, %s, dims = [1]
    : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  %y = stablehlo.add %x, %r : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
"""
B = np.array([1, 2, 3], np.float32)


def rows(count: int) -> np.ndarray:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3)


def test_a_length_may_be_open() -> None:
    model = rl.from_stablehlo(OPEN)
    for count in (1, 4, 2, 4):
        np.testing.assert_array_equal(model(rows(count), B), rows(count) + B)
    np.testing.assert_array_equal(model(rows(2), b=B), rows(2) + B)
    assert "4.3.f32" in model.at((4, 3), (3,)).as_text()


def test_arguments_of_an_open_model_are_bound() -> None:
    model = rl.from_stablehlo(OPEN).bind(b=B)
    assert model.names == ("x",)
    np.testing.assert_array_equal(model(rows(5)), rows(5) + B)
    with pytest.raises(rl.UserError, match="no argument c"):
        model.bind(c=B)


def test_each_argument_of_an_open_model_is_bound_once() -> None:
    model = rl.from_stablehlo(OPEN)
    count = len(model.names)
    for action in (model, model.bind):
        with pytest.raises(rl.UserError, match=f"the model takes {count} arguments"):
            action(*[B] * (count + 1))
        with pytest.raises(rl.UserError, match=f"the model got {model.names[0]} twice"):
            action(B, **{model.names[0]: B})
    with pytest.raises(rl.UserError, match="the model has no argument c"):
        model(*[B] * (count - 1), c=B)


def test_an_open_model_keeps_what_it_computes_from_bound_arguments() -> None:
    model = rl.from_stablehlo(OPEN).bind(b=B)
    for count in range(1, 4):
        model(rows(count))
    assert model.at((2, 3)) is model.at(rows(2))
    assert model.bind().at((2, 3)) is not model.at((2, 3))


def test_the_second_call_to_a_model_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rl.from_stablehlo(OPEN).bind(b=B)
    model(rows(2))
    monkeypatch.delattr(Model, "_checked_call")
    np.testing.assert_array_equal(model(rows(2)), rows(2) + B)


def test_what_the_author_asks_of_open_lengths_is_checked() -> None:
    model = rl.from_stablehlo(OPEN)
    with pytest.raises(rl.UserError, match="there must be rows, but there are 0"):
        model(rows(0), B)
    with pytest.raises(rl.UserError, match=r"argument x: expected tensor<\?x3xf32>"):
        model(np.zeros((2, 4), np.float32), B)
    with pytest.raises(rl.UserError, match="takes 2 arguments"):
        model(rows(2))


@pytest.mark.rotating(3)
def test_a_model_is_saved_in_one_file(tmp_path: Path) -> None:
    *weights, x = examples.arguments("mlp", 0)
    model = rl.from_stablehlo(examples.text("mlp"), float="contract").bind(*weights)
    model.save(tmp_path / "mlp.model")
    loaded = rl.load_model(tmp_path / "mlp.model")
    assert loaded.names == ("x",)
    assert loaded.options.float == "contract"
    np.testing.assert_array_equal(loaded(x), model(x))
    with zipfile.ZipFile(tmp_path / "mlp.model") as archive:
        assert not any(name.endswith(("pkl", "pickle")) for name in archive.namelist())


def test_an_open_model_is_saved(tmp_path: Path) -> None:
    rl.from_stablehlo(OPEN).bind(b=B).save(tmp_path / "open.model")
    loaded = rl.load_model(tmp_path / "open.model", backend="interpret")
    np.testing.assert_array_equal(loaded(rows(3)), rows(3) + B)


@pytest.mark.parametrize("element", ["bf16", "i1", "ui8", "f64"])
def test_arrays_of_all_types_are_saved(element: str, tmp_path: Path) -> None:
    type = f"tensor<3x{element}>"
    text = (
        f"func.func @main(%x: {type}, %y: {type}) -> {type} {{\n"
        f"  %0 = stablehlo.maximum %x, %y : {type}\n  return %0 : {type}\n}}\n"
    )
    model = rl.from_stablehlo(text)
    x, y = (np.array(each).astype(model.dtypes["arg0"]) for each in ([1, 0, 1], [0, 0, 1]))
    model.bind(x).save(tmp_path / "one.model")
    result = rl.load_model(tmp_path / "one.model")(y)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, model(x, y))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_model(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.model"
    path.write_bytes(content)
    with pytest.raises(rl.UserError, match="is not a saved model"):
        rl.load_model(path)
    with pytest.raises(rl.UserError, match="cannot be read"):
        rl.load_model(tmp_path / "none.model")


@pytest.mark.rotating(3)
def test_a_model_in_the_cache_needs_no_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    arguments = examples.arguments("mlp_train", 0)
    wanted = rl.from_stablehlo(examples.text("mlp_train"))(*arguments)

    def refuse(*_: object) -> None:
        raise AssertionError("the module is read again")

    monkeypatch.setattr(stablehlo, "read_functions", refuse)
    monkeypatch.setattr("riselang.native.mlir.stablehlo.read_functions", refuse)
    model = rl.from_stablehlo(examples.text("mlp_train"))
    for result, other in zip(model(*arguments), wanted, strict=True):
        np.testing.assert_array_equal(result, other)
    with pytest.raises(AssertionError, match="read again"):
        rl.from_stablehlo(examples.text("mlp_train"), float="strict")


def test_a_damaged_entry_of_the_cache_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    x = rows(2)
    text = (
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n}\n"
    )
    np.testing.assert_array_equal(rl.from_stablehlo(text)(x), 2 * x)
    for path in tmp_path.glob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-3])
    np.testing.assert_array_equal(rl.from_stablehlo(text)(x), 2 * x)
