"""The models in `examples/models` compute what JAX computed of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support import model_examples as examples

INTERPRETED = ("mlp_train", pytest.param("train_loop", marks=pytest.mark.nightly))
"""Those small enough for the interpreter."""


def test_all_models_are_there() -> None:
    wanted = {"mlp", "lenet", "resnet_block", "encoder", "mlp_train", "lenet_train", "train_loop"}
    assert wanted <= set(examples.names())


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name == "lenet_train" else ())
        for name in examples.names()
    ],
)
@pytest.mark.sampled(1)
def test_a_model_computes_what_its_framework_did(name: str) -> None:
    model = rl.from_stablehlo(examples.FOLDER / f"{name}.mlir")
    for number in range(examples.SETS):
        found = examples.as_list(model(*examples.arguments(name, number)))
        wanted = examples.expected(name, number)
        assert len(found) == len(wanted) > 0
        for result, other in zip(found, wanted, strict=True):
            examples.assert_close(result, other)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", INTERPRETED)
def test_the_interpreter_gives_the_bits_that_compiled_code_gives(name: str) -> None:
    """Where it may not approximate exp and its kind."""
    arguments = examples.arguments(name, 0)
    results = [
        examples.as_list(
            rl.from_stablehlo(examples.text(name), backend=backend, float="contract")(*arguments)
        )
        for backend in ("compile", "interpret")
    ]
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)


def test_the_parameters_of_a_model_have_the_names_of_its_author() -> None:
    assert rl.from_stablehlo(examples.text("mlp")).names == ("w1", "b1", "w2", "b2", "x")


def test_operators_are_patterns() -> None:
    shown = rl.from_stablehlo(examples.text("mlp")).as_text("notation")
    assert "zip(row, column) |> map(mult) |> reduce(add, 0.0)" in shown
    assert "generate" not in shown  # biases are not repeated in memory


@pytest.mark.rotating(3)
def test_weights_are_bound_once() -> None:
    model = rl.from_stablehlo(examples.text("mlp"))
    *weights, x = examples.arguments("mlp", 0)
    bound = model.bind(*weights)
    assert bound.names == ("x",)
    np.testing.assert_array_equal(bound(x), model(*weights, x))
    weights[0][:] = 0  # the model has its own
    np.testing.assert_array_equal(bound(x), model(*examples.arguments("mlp", 0)))
    by_name = model.bind(w1=examples.arguments("mlp", 0)[0])
    assert by_name.names == ("b1", "w2", "b2", "x")


def test_a_model_of_zero_weights_is_still_computed() -> None:
    model = rl.from_stablehlo(examples.text("mlp"))
    *weights, x = examples.arguments("mlp", 0)
    zeros = [np.zeros_like(each) for each in weights[:3]]
    np.testing.assert_array_equal(model(*zeros, weights[3], x)[1], weights[3])


@pytest.mark.rotating(3)
def test_results_may_go_to_arrays_that_are_there() -> None:
    model = rl.from_stablehlo(examples.text("mlp_train"))
    arguments = examples.arguments("mlp_train", 0)
    wanted = model(*arguments)
    out = tuple(np.empty_like(each) for each in wanted)
    assert model(*arguments, out=out) is out
    for result, other in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(result, other)


LAYER = """
func.func @main(%w: tensor<64x32xf32>, %b: tensor<32xf32>, %x: tensor<64x64xf32>)
    -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
"""


def layer() -> list[Any]:
    random = np.random.default_rng(0)
    return [random.random(shape, np.float32) for shape in ((64, 32), (32,), (64, 64))]


@pytest.mark.rotating(3)
def test_what_depends_on_bound_weights_alone_is_computed_once() -> None:
    model = rl.from_stablehlo(LAYER)
    w, b, x = layer()
    bound = model.bind(w, b)
    code = bound.body.bound_code(frozenset({0, 1}))
    assert code.precomputation.groups == (1,)  # the matrix, in the layout of its product
    wanted = model(w, b, x)
    np.testing.assert_allclose(wanted, x @ w + b, rtol=1e-5)
    np.testing.assert_array_equal(bound(x), wanted)
    np.testing.assert_array_equal(bound(x), wanted)  # a call that has been prepared
    np.testing.assert_array_equal(bound(arg2=x), wanted)
    out = np.empty_like(wanted)
    assert bound(x, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    assert model.bind(arg1=b).body.bound_code(frozenset({1})) is None
    np.testing.assert_array_equal(model.bind(arg1=b)(w, x), wanted)


def test_bound_weights_that_are_zero_are_still_weights() -> None:
    w, b, x = layer()
    result = rl.from_stablehlo(LAYER).bind(np.zeros_like(w), b)(x)
    np.testing.assert_array_equal(result, np.broadcast_to(b, result.shape))


@pytest.mark.rotating(3)
def test_a_model_with_weights_bound_is_found_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    *weights, x = layer()
    wanted = rl.from_stablehlo(LAYER).bind(*weights)(x)

    def refuse(*_: object) -> None:
        raise AssertionError("the module is read again")

    monkeypatch.setattr("riselang.native.mlir.stablehlo.read_functions", refuse)
    found = rl.from_stablehlo(LAYER).bind(*weights)
    np.testing.assert_array_equal(found(x), wanted)
    monkeypatch.undo()
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    for path in tmp_path.glob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-3])
    again = rl.from_stablehlo(LAYER).bind(*weights)
    np.testing.assert_array_equal(again(x), wanted)


def test_buffers_are_copied_where_a_result_is_an_argument_or_another_result() -> None:
    model = rl.from_stablehlo(
        """
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %x, %0, %0 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
"""
    )
    x = np.array([1, 2, 3], np.float32)
    out = tuple(np.empty_like(x) for _ in range(3))
    for results in (model(x), model(x), model(x, out=out)):
        for result, factor in zip(results, (1, 2, 2), strict=True):
            np.testing.assert_array_equal(result, factor * x)
            assert not np.shares_memory(result, x)
        assert not np.shares_memory(results[1], results[2])
    with pytest.raises(rl.UserError, match="share memory"):
        model(x, out=(x, *out[1:]))
