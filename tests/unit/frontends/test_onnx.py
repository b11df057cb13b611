"""ONNX models: shapes and values that calls determine, functions, control flow, and errors.

What each op computes is compared in test_onnx_nodes.py.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import riselang as rl

onnx: Any = pytest.importorskip("onnx")
helper, FLOAT, INT = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def tensor(name: str, shape: Any, type: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, type, shape)


def model(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    *weights: Any,
    functions: Any = (),
    opset: int = 20,
) -> Any:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def weight(name: str, array: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def load(proto: Any) -> Any:
    return rl.from_onnx(proto, backend="interpret")


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_static_model_is_compiled_and_saved(tmp_path: Path) -> None:
    layer = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    w, b = np.array([[1, -1], [2, 0], [0, 1]], np.float32), np.array([-5, 1], np.float32)
    proto = model(
        layer, [tensor("x", [2, 3])], [tensor("y", [2, 2])], weight("w", w), weight("b", b)
    )
    wanted = np.maximum(X @ w + b, 0)
    found = rl.from_onnx(proto)
    np.testing.assert_allclose(found(X), wanted)
    found.save(tmp_path / "model")
    np.testing.assert_allclose(rl.load_model(tmp_path / "model")(X), wanted)
    onnx.save(proto, tmp_path / "model.onnx")
    np.testing.assert_allclose(rl.from_onnx(tmp_path / "model.onnx")(X), wanted)
    np.testing.assert_allclose(rl.from_onnx(proto.SerializeToString())(X), wanted)


def test_dynamic_dimensions_have_names() -> None:
    add = [helper.make_node("Add", ["x", "y"], ["z"])]
    found = load(model(add, [tensor("x", ["n", 3]), tensor("y", ["n", 3])], [tensor("z", None)]))
    for count in (2, 5):
        x = np.ones((count, 3), np.float32)
        np.testing.assert_array_equal(found(x, x), x + x)
    with pytest.raises(rl.UserError, match=r"y: expected n.3.f32 \(with n = 2\)"):
        found(X, X[:1])
    with pytest.raises(rl.UserError, match="x: expected elements float32, but found float64"):
        found(X.astype(np.float64), X)


def test_shapes_are_computed_during_import() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Mul", ["n", "three"], ["size"]),
        helper.make_node("Unsqueeze", ["size", "axis"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    weights = [weight("zero", np.int64(0)), weight("three", np.int64(3)),
               weight("axis", np.array([0], np.int64))]  # fmt: skip
    found = load(model(nodes, [tensor("x", ["n", 3])], [tensor("y", None)], *weights))
    np.testing.assert_array_equal(found(X), X.ravel())


def test_inputs_that_determine_shapes_are_compiled_in() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    found = load(
        model(nodes, [tensor("x", [2, 3]), tensor("shape", [1], INT)], [tensor("y", None)])
    )
    np.testing.assert_array_equal(found(X, np.array([6], np.int64)), X.ravel())
    np.testing.assert_array_equal(found(X, np.array([-1], np.int64)), X.ravel())
    assert found.compiled_in == ("shape",)
    np.testing.assert_array_equal(found.bind(shape=np.array([6], np.int64))(X), X.ravel())


def test_functions_of_the_model_are_expanded() -> None:
    node = helper.make_node("Mul", ["a", "a"], ["b"])
    opsets = [helper.make_opsetid("", 20)]
    square = helper.make_function("own", "Square", ["a"], ["b"], [node], opsets)
    use = helper.make_node("Square", ["x"], ["y"], domain="own")
    proto = model([use], [tensor("x", [2, 3])], [tensor("y", [2, 3])], functions=[square])
    np.testing.assert_array_equal(load(proto)(X), X * X)


def test_branches_read_values_around_them() -> None:
    def branch(op: str) -> Any:
        return helper.make_graph(
            [helper.make_node(op, ["x", "x"], ["r"])], op, [], [tensor("r", [2, 3])]
        )

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("Add"), else_branch=branch("Mul")
    )
    boolean = tensor("c", [], onnx.TensorProto.BOOL)
    found = load(model([node], [boolean, tensor("x", [2, 3])], [tensor("y", [2, 3])]))
    np.testing.assert_array_equal(found(np.bool_(True), X), X + X)
    np.testing.assert_array_equal(found(np.bool_(False), X), X * X)


def test_a_loop_ends_when_its_condition_fails() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("Less", ["w", "limit"], ["more"]),
        ],
        "body",
        [tensor("i", [], INT), tensor("go", [], onnx.TensorProto.BOOL), tensor("v", [])],
        [tensor("more", [], onnx.TensorProto.BOOL), tensor("w", [])],
    )
    node = helper.make_node("Loop", ["", "", "x"], ["y"], body=body)
    found = load(
        model([node], [tensor("x", [])], [tensor("y", [])], weight("limit", np.float32(9)))
    )
    assert found(np.float32(1)) == 16
    assert found(np.float32(3)) == 12


def test_small_types_have_their_dtypes_outside() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT4)
    found = load(model([node], [tensor("x", [3])], [tensor("y", [3])], opset=21))
    result = found(np.array([-8, 3, 7], np.float32))
    assert str(result.dtype) == "int4"
    np.testing.assert_array_equal(result.astype(np.int8), [-8, 3, 7])


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (
            model([helper.make_node("Unique", ["x"], ["y"], "u")], [tensor("x", [3])],
                  [tensor("y", None)]),
            r"the op Unique of the node 'u' \(output 'y'\) is not supported here: the shape of its",
        ),
        (
            model([helper.make_node("Foo", ["x"], ["y"], domain="com.acme")], [tensor("x", [3])],
                  [tensor("y", None)]),
            "the op Foo of the node 'y' .* does not state the version of the domain 'com.acme'",
        ),
        (
            model([], [tensor("x", [3], onnx.TensorProto.STRING)], [tensor("x", [3])]),
            "the input 'x': string elements are not supported",
        ),
        (
            model([helper.make_node("Add", ["x", "x"], ["y"])], [tensor("x", [3])],
                  [tensor("y", None)], opset=5),
            "the model has the op set 5, but the oldest supported one of the op Add is 6",
        ),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(proto: Any, message: str) -> None:
    with pytest.raises(rl.LimitationError, match=message):
        load(proto)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"junk", "this is not an ONNX model"),
        ("no/such/model.onnx", "cannot be read: No such file or directory"),
        (3, "expected a path, bytes or an onnx.ModelProto, found int"),
        (
            model([helper.make_node("Relu", ["missing"], ["y"])], [], [tensor("y", None)]),
            "nothing computes 'missing'",
        ),
    ],
)
def test_what_is_not_a_valid_model_is_a_users_error(source: Any, message: str) -> None:
    with pytest.raises(rl.UserError, match=message):
        rl.from_onnx(source)


def broken(proto: Any, random: Random) -> Any:
    """Return a model with an attribute, an input, a shape or an op of another kind."""
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    graph = changed.graph
    node, info = random.choice(graph.node), random.choice(graph.input)
    kind = random.randrange(6)
    if kind == 0 and node.attribute:
        attribute = random.choice(node.attribute)
        attribute.i = random.choice([-7, -1, 0, 5, 2**40])
        attribute.ints[:] = [random.choice([-7, -1, 0, 5])] * random.randrange(4)
    elif kind == 1 and len(node.input) > 1:
        del node.input[random.randrange(len(node.input))]
    elif kind == 2:
        node.input.append(random.choice([*node.input, "missing"]))
    elif kind == 3:
        node.op_type = random.choice(["Conv", "Concat", "Trilu", "LSTM", "Einsum", "Foo", "TopK"])
    elif kind == 4:
        info.type.tensor_type.elem_type = random.randrange(24)
    else:
        info.type.tensor_type.shape.dim.add().dim_value = random.randrange(4)
    return changed


def test_broken_models_have_a_message() -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["h"], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    pool = helper.make_node("MaxPool", ["h"], ["p"], kernel_shape=[2, 2], strides=[2, 2])
    flat = helper.make_node("Flatten", ["p"], ["f"], axis=1)
    gemm = helper.make_node("Gemm", ["f", "v", "b"], ["y"], transB=1)
    shapes = {"x": [1, 2, 4, 4], "w": [3, 2, 2, 2], "v": [5, 12], "b": [5]}
    inputs = [tensor(name, shape) for name, shape in shapes.items()]
    proto = model([conv, pool, flat, gemm], inputs, [tensor("y", [1, 5])])
    load(proto)
    random, messages = Random(1), 0
    for _ in range(60):
        try:
            load(broken(proto, random))
        except (rl.UserError, rl.LimitationError) as error:
            messages += bool(error.message)
    assert messages > 20
