"""The models in `examples/models` compute what JAX computed of them."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from support import model_examples as examples

INTERPRETED = ("mlp_train", "train_loop")
"""Those small enough for the interpreter."""


def test_all_models_are_there() -> None:
    wanted = {"mlp", "lenet", "resnet_block", "encoder", "mlp_train", "lenet_train", "train_loop"}
    assert wanted <= set(examples.names())


@pytest.mark.parametrize("name", examples.names())
def test_a_model_computes_what_its_framework_did(name: str) -> None:
    model = rl.from_stablehlo(examples.FOLDER / f"{name}.mlir")
    for number in range(examples.SETS):
        found = examples.as_list(model(*examples.arguments(name, number)))
        wanted = examples.expected(name, number)
        assert len(found) == len(wanted) > 0
        for result, other in zip(found, wanted, strict=True):
            examples.assert_close(result, other)


@pytest.mark.parametrize("name", INTERPRETED)
def test_the_interpreter_gives_the_bits_that_compiled_code_gives(name: str) -> None:
    arguments = examples.arguments(name, 0)
    results = [
        examples.as_list(rl.from_stablehlo(examples.text(name), backend=backend)(*arguments))
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


def test_results_may_go_to_arrays_that_are_there() -> None:
    model = rl.from_stablehlo(examples.text("mlp_train"))
    arguments = examples.arguments("mlp_train", 0)
    wanted = model(*arguments)
    out = tuple(np.empty_like(each) for each in wanted)
    assert model(*arguments, out=out) is out
    for result, other in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(result, other)
