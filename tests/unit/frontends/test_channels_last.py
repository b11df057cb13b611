"""Convolutions of ONNX compute the features last, whatever the order of the model."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import riselang as rl

pytestmark = pytest.mark.rotating(2)

onnx: Any = pytest.importorskip("onnx")
reference: Any = importlib.import_module("onnx.reference")
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT
SOURCE = np.random.default_rng(0)
Arrays = Mapping[str, np.ndarray]
CONVOLUTIONS: Mapping[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "windows": ((9, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strided windows": ((9, 8, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1]}),
    "dilated windows": ((8, 8, 2, 2), {"dilations": [2, 1]}),
    "pointwise": ((9, 8, 1, 1), {}),
    "strided pointwise": ((16, 8, 1, 1), {"strides": [2, 2]}),
    "padded pointwise": ((9, 8, 1, 1), {"pads": [1, 0, 1, 0]}),
    "rows": ((9, 8, 1, 3), {"pads": [0, 1, 0, 1]}),
    "depthwise": ((8, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    "strided depthwise": ((8, 1, 3, 3), {"group": 8, "strides": [2, 2]}),
    "groups": ((8, 4, 3, 3), {"group": 2}),
    "few kernels": ((2, 8, 3, 3), {}),
}


def check(
    nodes: Sequence[Any], inputs: Arrays, weights: Arrays, *, is_interpreted: bool = True
) -> Any:
    """Compare the compiled model and the interpreter with ONNX's own evaluator."""
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, FLOAT, each.shape) for name, each in inputs.items()],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [onnx.numpy_helper.from_array(each, name) for name, each in weights.items()],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (wanted,) = reference.ReferenceEvaluator(proto).run(None, dict(inputs))
    model: Any = rl.from_onnx(proto)
    np.testing.assert_allclose(model(**inputs), wanted, rtol=1e-4, atol=1e-4)
    if not is_interpreted:
        return model
    interpreted: Any = rl.from_onnx(proto, backend="interpret")
    np.testing.assert_allclose(interpreted(**inputs), wanted, rtol=1e-4, atol=1e-4)
    return model


def random(*shape: int) -> np.ndarray:
    return SOURCE.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.sampled(6)
def test_kinds_of_convolutions(name: str, batch: int) -> None:
    shape, attributes = CONVOLUTIONS[name]
    node = helper.make_node("Conv", ["x", "k", "b"], ["y"], **attributes)
    check([node], {"x": random(batch, 8, 7, 6)}, {"k": random(*shape), "b": random(shape[0])})


def test_convolutions_of_one_dimension() -> None:
    node = helper.make_node("Conv", ["x", "k"], ["y"], pads=[1, 1])
    check([node], {"x": random(1, 8, 9)}, {"k": random(10, 8, 3)})


@pytest.mark.parametrize("batch", [1, 2])
def test_a_network_stays_in_one_order(batch: int) -> None:
    """A residual block: only its input and its result are transposed."""
    nodes = [
        helper.make_node("Conv", ["x", "k0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["c", "k1"], ["d"], group=8, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["d", "k2"], ["e"]),
        helper.make_node("Add", ["e", "c"], ["f"]),
        helper.make_node("Mul", ["f", "scale"], ["y"]),
    ]
    weights = {
        "k0": random(8, 3, 3, 3), "k1": random(8, 1, 3, 3), "k2": random(8, 8, 1, 1),
        "scale": random(8, 1, 1),
    }  # fmt: skip
    model = check(nodes, {"x": random(batch, 3, 8, 6)}, weights)
    # Bias-like factors, pooling and the residual read arrays in the order in which they are stored.
    assert "map(transpose) |> transpose |> toMem" not in model.as_text()


@pytest.mark.parametrize("batch", [1, 2])
def test_elementwise_ops_are_epilogues_of_pointwise_convolutions(batch: int) -> None:
    """They map over the rows of the product, not over images of them."""
    nodes = [
        helper.make_node("Conv", ["x", "k", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Conv", ["c", "k"], ["d"]),
        helper.make_node("Add", ["c", "d"], ["y"]),
    ]
    inputs = {"x": random(batch, 8, 24, 23)}
    weights = {"k": random(8, 8, 1, 1), "b": random(8)}
    model = check(nodes, inputs, weights, is_interpreted=False)
    assert "toMem(heap) |> split" not in " ".join(model.as_text().split())


def test_operands_of_different_orders() -> None:
    """The tensor that is added has the features first, so the sum is in the order of the model."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"]),
        helper.make_node("Add", ["a", "z"], ["b"]),
        helper.make_node("ReduceSum", ["b", "axes"], ["y"], keepdims=0),
    ]
    inputs = {"x": random(2, 4, 5, 6), "z": random(2, 8, 5, 6)}
    weights = {"k": random(8, 4, 1, 1), "axes": np.array([1])}
    check(nodes, inputs, weights)


def test_batches_of_one_are_no_dimensions() -> None:
    """Attention of a batch of one: its products are those of matrices."""
    nodes = [
        helper.make_node("Reshape", ["x", "split"], ["s"]),
        helper.make_node("Transpose", ["s"], ["q"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["s"], ["k"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["q", "k"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "q"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["t", "joined"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["p"]),
        helper.make_node("Add", ["p", "x"], ["y"]),
    ]
    weights = {
        "split": np.array([1, 6, 2, 4]), "joined": np.array([1, 6, 8]), "w": random(8, 8)
    }  # fmt: skip
    model = check(nodes, {"x": random(1, 6, 8)}, weights)
    assert "generate" not in model.as_text()


@pytest.mark.parametrize("batch", [1, 2])
def test_means_of_features_are_computed_in_rows_of_features(batch: int) -> None:
    """A global average after a convolution: it reads the result in the order in which it is
    stored."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("ReduceMean", ["a", "axes"], ["y"]),
    ]
    weights = {"k": random(16, 3, 3, 3), "axes": np.array([2, 3])}
    model = check(nodes, {"x": random(batch, 3, 8, 6)}, weights)
    assert "transpose |> map(fun(x1, x1 |> transpose)) |> map" not in " ".join(
        model.as_text().split()
    )
    assert "reduce(fun((total" not in " ".join(model.as_text().split())
