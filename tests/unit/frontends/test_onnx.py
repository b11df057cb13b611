"""ONNX models: shapes and values that calls determine, functions, control flow, and errors.

What each op computes is compared in test_onnx_nodes.py.
"""

from __future__ import annotations

import importlib
from pathlib import Path
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


def test_later_calls_with_the_same_shapes_run_at_once() -> None:
    """They give what first calls give: several results, bound arguments, and other shapes."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Add", ["x", "x"], ["z"]),
    ]
    inputs = [tensor("x", ["n", 3]), tensor("w", [3, 2])]
    found = rl.from_onnx(model(nodes, inputs, [tensor("y", ["n", 2]), tensor("z", ["n", 3])]))
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    bound = found.bind(w=w)
    for x in (X, X + 1, np.ones((1, 3), np.float32), X):
        for y, z in (found(x, w), found(x=x, w=w), bound(x)):
            np.testing.assert_array_equal(y, x @ w)
            np.testing.assert_array_equal(z, x * 2)
    with pytest.raises(rl.RiseError, match="argument w: expected elements float32"):
        found(X, w.astype(np.float64))
    with pytest.raises(rl.RiseError, match="argument x: expected"):
        found(X.T.copy(), w)
    with pytest.raises(rl.RiseError, match="takes 2 arguments"):
        found(X)


def test_bound_arguments_are_copied_and_each_argument_is_passed_once() -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    inputs = [tensor("x", ["n", 3]), tensor("w", [3])]
    found = rl.from_onnx(model(nodes, inputs, [tensor("y", ["n", 3])]))
    w = np.ones(3, np.float32)
    bound = found.bind(w=w)
    w[:] = 5
    for _ in range(3):
        np.testing.assert_array_equal(bound(X), X + 1)
    for call in (lambda: found(X, w, x=X), lambda: found.bind(X, x=X)):
        with pytest.raises(rl.RiseError, match="the model got x twice"):
            call()
    with pytest.raises(rl.RiseError, match="takes 2 arguments"):
        found.bind(X, w, w)


@pytest.mark.parametrize("names", ["y", "yz", "zy", "z"])
def test_the_latest_call_is_repeated_with_its_shapes_only(names: str) -> None:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["y"]),
        helper.make_node("Mul", ["x", "x"], ["z"]),
    ]
    outputs = [tensor(each, ["n", 3]) for each in names]
    found = rl.from_onnx(model(nodes, [tensor("x", ["n", 3])], outputs))
    for factor in range(12):
        x = X[: 1 + factor // 4 % 2] * np.float32(factor)
        results = found(x)
        for name, result in zip(names, [results] if len(names) == 1 else results, strict=True):
            np.testing.assert_array_equal(result, x * 2 if name == "y" else x * x)
    with pytest.raises(rl.RiseError, match="argument x: expected"):
        found(X[:, :2].copy())


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


def test_shapes_that_depend_on_arguments_are_compiled_in() -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["y"])]
    found = load(model(nodes, [tensor("x", [2, 3])], [tensor("y", None, INT)]))
    np.testing.assert_array_equal(found(X), np.array(np.nonzero(X)))
    np.testing.assert_array_equal(found(X * 0), np.zeros((2, 0)))
    assert found.compiled_in == ("x",)


def test_shapes_that_depend_on_computed_values_are_not_supported() -> None:
    nodes = [helper.make_node("MatMul", ["x", "x"], ["z"]),
             helper.make_node("Unique", ["z"], ["y"], "u")]  # fmt: skip
    found = load(model(nodes, [tensor("x", [2, 2])], [tensor("y", None)]))
    with pytest.raises(rl.LimitationError, match=r"op Unique of the node 'u' .* computed from the"):
        found(X[:, :2])


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
            model([helper.make_node("Concat", ["x", "x"], ["z"], "u", axis=4)], [tensor("x", [3])],
                  [tensor("z", None)]),
            r"the op Concat of the node 'u' \(output 'z'\) is not supported here: the axis 4 of a",
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


BOOL, INT8 = onnx.TensorProto.BOOL, onnx.TensorProto.INT8
RUN_OF_BODY = helper.make_graph(
    [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
    "body", [tensor("s", []), tensor("e", [])], [tensor("t", []), tensor("o", [])],
)  # fmt: skip


def one(op: str, *inputs: Any, output: Any = None, **attributes: Any) -> Any:
    """Return a model of one node, for inputs and weights of these types and values."""
    infos = [each for each in inputs if hasattr(each, "type")]
    names = [each.name for each in inputs]
    weights = [each for each in inputs if not hasattr(each, "type")]
    node = helper.make_node(op, names, [output or "y"], "n", **attributes)
    return model([node], infos, [tensor("y", None)], *weights)


def ints(*numbers: int) -> Any:
    return weight("_".join(map(str, ("w", *numbers))), np.array(numbers, np.int64))


MATRIX, ROW = tensor("x", [2, 3]), tensor("v", [3])
INVALID = {
    "has inputs of the types tensor.int8. and tensor.float., which must be the same":
        one("Greater", tensor("a", [2], INT8), tensor("b", [2])),
    "is not defined for tensor.bool., the type of its input 0":
        one("Relu", tensor("a", [2], BOOL)),
    "has 3 inputs, but at most 2 are expected": one("Add", MATRIX, MATRIX, MATRIX),
    "has no attribute 'foo'": one("Relu", MATRIX, foo=1),
    "lacks the attribute 'axis'": one("Concat", MATRIX, MATRIX),
    "an attribute 'axis' of the type float, but int is expected": one("Softmax", MATRIX, axis=0.5),
    "are not different ones of 4 dimensions": one("Unsqueeze", MATRIX, ints(1, 1)),
    "is not a permutation of 2 dimensions": one("Transpose", MATRIX, perm=[0, 0]),
    "a tensor of rank at least 2 is expected":
        one("GroupNormalization", ROW, tensor("s", [3]), tensor("b", [3]), num_groups=1),
    "a tensor of rank 4 is expected": one("DepthToSpace", MATRIX, blocksize=2),
    "scan_output_directions has 2 numbers, but 1 are needed":
        one("Scan", tensor("s", []), ROW, body=RUN_OF_BODY, num_scan_inputs=1,
            scan_output_directions=[0, 0]),
    "the graph 'body' has 2 inputs, but gets 3":
        one("Scan", tensor("s", []), ROW, ROW, body=RUN_OF_BODY, num_scan_inputs=2),
    "is too large": one("Expand", ROW, ints(2**40, 2**40, 3)),
    "the step is 0": one("Range", *(weight(n, np.int64(k)) for n, k in zip("abc", (0, 5, 0),
                                                                         strict=True))),
    "there are 1 starts, 2 ends": one("Slice", MATRIX, ints(0), ints(1, 2)),
    "there are 3 pads for 2 axes": one("Pad", MATRIX, ints(1, 1, 1)),
    "the attribute reduction is 'su\ufffd', but it must be one of: none, add, mul, max, min":
        one("ScatterElements", ROW, ints(0), ROW, reduction=b"su\xc9"),
    "but a tensor of rank 2 is expected":
        one("RNN", tensor("x", [2, 1, 3]), tensor("w", [1, 2, 3]), tensor("r", [1, 2, 2]),
            tensor("b", [4])),
    "cannot be concatenated along the axis 0": one("Concat", MATRIX, tensor("z", [1, 4]), axis=0),
}  # fmt: skip


@pytest.mark.parametrize("message", INVALID)
def test_an_invalid_node_is_named(message: str) -> None:
    with pytest.raises((rl.UserError, rl.LimitationError), match=message) as caught:
        load(INVALID[message])
    assert "of the node 'n'" in str(caught.value)


def test_positions_outside_a_sequence_are_refused() -> None:
    nodes = [helper.make_node("SplitToSequence", ["x"], ["s"]),
             helper.make_node("SequenceAt", ["s", "k"], ["y"])]  # fmt: skip
    proto = model(nodes, [MATRIX], [tensor("y", None)], weight("k", np.int64(2)))
    with pytest.raises(rl.LimitationError, match="the position 2 is not in a sequence of 2"):
        load(proto)
    nodes[0] = helper.make_node("SplitToSequence", ["x"], ["s"])
    long = model(nodes, [tensor("x", [1 << 20])], [tensor("y", None)], weight("k", np.int64(2)))
    with pytest.raises(rl.LimitationError, match="a sequence of 1048576 parts is too long"):
        load(long)


def test_data_of_another_length_than_the_shape_are_named() -> None:
    proto = one("Relu", weight("w", X))
    proto.graph.initializer[0].dims[0] = 5
    with pytest.raises(rl.UserError, match="the tensor 'w' cannot be read"):
        load(proto)


def test_negative_lengths_are_dynamic() -> None:
    proto = one("Slice", tensor("x", [2, -1]), ints(-2), ints(9), ints(1), output="y")
    np.testing.assert_array_equal(load(proto)(X), X[:, -2:])


@pytest.mark.rotating(3)
def test_a_crash_of_the_shape_inference_of_onnx_is_a_problem_of_the_model() -> None:
    """ONNX 1.23 ends the process for slices of dimensions of negative lengths."""
    problem_of: Any = vars(importlib.import_module("riselang.frontends.onnx.reading"))[
        "_problem_of"
    ]
    proto = one("Slice", tensor("x", [2, -1]), ints(-2), ints(9), ints(1))
    proto.graph.output[0].type.tensor_type.shape.dim.add()
    assert "crashes" in problem_of(proto)
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    proto.graph.output[0].type.tensor_type.shape.dim.add()
    assert not problem_of(proto)


def test_integers_are_divided_towards_zero_during_import() -> None:
    parts = [weight("a", np.array([-128, -7, 7], np.int8)), weight("b", np.array([3], np.int8))]
    np.testing.assert_array_equal(load(one("Div", *parts))(), [-42, -2, 2])


def test_large_constants_of_equal_elements_are_not_stored() -> None:
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["c"]),
             helper.make_node("Add", ["x", "c"], ["y"])]  # fmt: skip
    proto = model(nodes, [tensor("x", [100, 100])], [tensor("y", None)],
                  weight("n", np.array([100, 100], np.int64)))  # fmt: skip
    x = np.ones((100, 100), np.float32)
    found = load(proto)
    np.testing.assert_array_equal(found(x), x)
    assert "constant" not in found.as_text("notation")


def test_a_compiled_model_is_found_by_the_bytes_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not parsed again, and the constants have the values and dtypes of the model."""
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path / "cache"))
    w = np.arange(60, dtype=np.float32).reshape(3, 20)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    proto = model([node], [tensor("x", [2, 3])], [tensor("y", [2, 20])], weight("w", w))
    path = tmp_path / "linear.onnx"
    path.write_bytes(proto.SerializeToString())
    np.testing.assert_allclose(rl.from_onnx(path)(X), X @ w)
    with monkeypatch.context() as without_parser:
        without_parser.setattr(onnx, "load_model_from_string", None)
        found: Any = rl.from_onnx(path)
        np.testing.assert_allclose(found(X), X @ w)
    onnx.save_model(
        proto, str(path), save_as_external_data=True, location="w.bin", size_threshold=0
    )
    np.testing.assert_allclose(rl.from_onnx(path)(X), X @ w)
    weights = np.fromfile(tmp_path / "w.bin", np.float32)
    (weights * 2).tofile(tmp_path / "w.bin")
    np.testing.assert_allclose(rl.from_onnx(path)(X), X @ (2 * w))


def test_more_outputs_than_elements_are_refused_at_once() -> None:
    """A broken model asked for so many parts of an array that listing them took minutes."""
    node = helper.make_node("Split", ["x"], ["a", "b"], name="parts", axis=0, num_outputs=1 << 40)
    values = {"x": (4,), "a": (2,), "b": (2,)}
    x, a, b = (helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in values.items())
    graph = helper.make_graph([node], "g", [x], [a, b])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(rl.LimitationError, match="but the node has 2 outputs"):
        rl.from_onnx(model)


@pytest.mark.parametrize(
    ("scales", "problem"),
    [
        (np.ones((2, 2), np.float32), "scales must be a vector of 2, but its shape is"),
        (np.ones(3, np.float32), "scales must be a vector of 2, but its shape is"),
        (np.array([1, np.inf], np.float32), "scales must be finite"),
    ],
)
def test_scales_that_are_no_vector_are_refused(scales: np.ndarray, problem: str) -> None:
    constant = onnx.numpy_helper.from_array(scales, "scales")
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"])
    proto = model([node], [tensor("x", [2, 3])], [tensor("y", None)])
    proto.graph.initializer.append(constant)
    with pytest.raises(rl.RiseError, match=problem):
        rl.from_onnx(proto)(X)
