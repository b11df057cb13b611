"""ONNX models, from what the importer makes of them on: no ONNX is needed for that.

What is converted, what is refused by name, and what is said where a conversion dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.mlir.torch_modules import ONNX_PASSES, convert_to_stablehlo
from riselang.native.workers import subprocess_worker

pytestmark = pytest.mark.rotating(2)


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"!torch.vtensor<[{','.join(map(str, shape))}],{element}>"


def numbers(*values: int) -> str:
    return f"[{', '.join(f'{value} : si64' for value in values)}]"


def node(op: str, inputs: Sequence[str], output: str, node: str = "n", **attributes: str) -> str:
    """A model of one node, as the importer gives it."""
    arguments = ", ".join(f"%a{number}: {type}" for number, type in enumerate(inputs))
    given = ", ".join(f"%a{number}" for number in range(len(inputs)))
    fields = ", ".join(f"torch.onnx.{name} = {value}" for name, value in attributes.items())
    return (
        f"func.func @main({arguments}) -> {output} attributes "
        "{torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {\n"
        f'  %0 = torch.operator "onnx.{op}"({given}) {{{fields}}} : '
        f'({", ".join(inputs)}) -> {output} loc("{node}")\n'
        f"  return %0 : {output}\n}}\n"
    )


def run(model: str, *arguments: Any) -> Any:
    return rl.from_stablehlo(convert_to_stablehlo(model, ONNX_PASSES, "from_onnx"))(*arguments)


def refusal(model: str) -> str:
    with pytest.raises(rl.LimitationError) as caught:
        convert_to_stablehlo(model, ONNX_PASSES, "from_onnx")
    return caught.value.message


def test_a_conversion_that_dies_names_the_node() -> None:
    cube = (1, 1, 4, 4, 4)
    model = node(
        "AveragePool", [tensor(cube)], tensor((1, 1, 3, 3, 3)), "pool",
        kernel_shape=numbers(2, 2, 2),
    )  # fmt: skip
    message = refusal(model)
    assert "crashed on the op AveragePool of the node 'pool' (SIGSEGV)" in message
    # The process is there, and so are conversions.
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(run(node("Neg", [tensor((3,))], tensor((3,))), x), -x)


@pytest.mark.parametrize(
    ("element", "name"),
    [
        ("ui16", "uint16"),
        ("ui64", "uint64"),
        ("si4", "int4"),
        ("ui4", "uint4"),
        ("!torch.str", "string"),
        ("f8E5M2", "float8e5m2"),
    ],
)
def test_element_types_that_are_not_converted_are_named(element: str, name: str) -> None:
    type = tensor((3,), element)
    message = refusal(node("Add", [type, type], type, "sum"))
    assert f"the op Add of the node 'sum' takes or returns {name} values" in message


def test_sequences_and_optionals_are_rejected() -> None:
    for kind, name in (("list", "sequence"), ("optional", "optional")):
        type = f"!torch.{kind}<vtensor<[3],f32>>"
        assert f"takes or returns {name} values" in refusal(node("Identity", [type], type))


def test_an_op_without_a_conversion_is_named() -> None:
    grid = node("AffineGrid", [tensor((1, 2, 3)), tensor((4,), "si64")], tensor((1, 4, 4, 2)), "g")
    assert "AffineGrid of the node 'g' has no conversion to StableHLO" in refusal(grid)
    axes = node("ReduceMax", [tensor((2, 2)), tensor((1,), "si64")], tensor((2, 1)), "r")
    assert "torch.aten.amax of the node 'r' has no conversion to StableHLO" in refusal(
        axes.replace("opset_version = 17", "opset_version = 18")
    )


X = np.array([-4.3, 7.2, 5.0, 4.3, -7.2, 8.0, 3.0, -3.0, 1e8], np.float32)
Y = np.array([2.1, -3.4, 8.0, -2.1, 3.4, 5.0, np.inf, np.inf, 3.0], np.float32)


@pytest.mark.parametrize(("fmod", "function"), [(0, np.mod), (1, np.fmod)])
def test_mod_has_the_sign_that_onnx_says(fmod: int, function: Any) -> None:
    for x, y, element in ((X, Y, "f32"), ((X[:6] * 10).astype("i4"), Y[:6].astype("i4"), "si32")):
        type = tensor(x.shape, element)
        found = run(node("Mod", [type, type], type, fmod=f"{fmod} : si64"), x, y)
        np.testing.assert_array_equal(found, function(x, y))


def test_mod_of_shapes_that_are_broadcast() -> None:
    x, y = X[:6].reshape(2, 3), Y[:3]
    for fmod, function in ((0, np.mod), (1, np.fmod)):
        model = node(
            "Mod", [tensor((2, 3)), tensor((3,))], tensor((2, 3)), fmod=f"{fmod} : si64"
        )  # fmt: skip
        np.testing.assert_array_equal(run(model, x, y), function(x, y))


def test_max_pool_with_windows_over_the_end() -> None:
    model = node(
        "MaxPool", [tensor((1, 1, 4, 4))], tensor((1, 1, 2, 2)), ceil_mode="1 : si64",
        kernel_shape=numbers(3, 3), strides=numbers(2, 2),
    )  # fmt: skip
    x = -np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    np.testing.assert_array_equal(run(model, x), [[[[0, -2], [-8, -10]]]])


def test_max_pool_with_windows_over_the_end_needs_known_lengths() -> None:
    model = node(
        "MaxPool", ["!torch.vtensor<[1,1,?,4],f32>"], "!torch.vtensor<[1,1,?,2],f32>", "pool",
        ceil_mode="1 : si64", kernel_shape=numbers(3, 3), strides=numbers(2, 2),
    )  # fmt: skip
    assert "the op MaxPool of the node 'pool' is not supported with ceil_mode=1" in refusal(model)


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("AveragePool", {"kernel_shape": numbers(2), "dilations": numbers(2)}, "with dilations"),
        ("LpPool", {"kernel_shape": numbers(2, 2, 2)}, "in three dimensions"),
        ("SpaceToDepth", {"blocksize": "2 : si64", "mode": '"CRD"'}, "with another mode"),
        ("GridSample", {"mode": '"nearest"'}, "with mode='nearest'"),
    ],
)
def test_what_is_converted_wrongly_is_rejected_with_its_name(
    op: str, attributes: dict[str, str], message: str
) -> None:
    model = node(op, [tensor((1, 1, 6))], tensor((1, 1, 4)), **attributes)
    assert f"the op {op} of the node 'n' is not supported {message}" in refusal(model)


def test_reductions_of_truth_values() -> None:
    x = np.array([[True, True], [True, False], [False, True], [False, False]])
    types = [tensor(x.shape, "i1")], tensor((4,), "i1")
    fields = {"axes": numbers(1), "keepdims": "0 : si64"}
    np.testing.assert_array_equal(run(node("ReduceMax", *types, **fields), x), x.max(1))
    np.testing.assert_array_equal(run(node("ReduceMin", *types, **fields), x), x.min(1))
    none = np.zeros((4, 0), bool)
    types = [tensor(none.shape, "i1")], tensor((4,), "i1")
    assert not run(node("ReduceMax", *types, **fields), none).any()
    assert run(node("ReduceMin", *types, **fields), none).all()


def test_a_norm_of_zero_leaves_zeros() -> None:
    x = np.array([[3, 4], [0, 0]], np.float32)
    model = node(
        "LpNormalization", [tensor(x.shape)], tensor(x.shape), axis="1 : si64", p="2 : si64"
    )
    np.testing.assert_allclose(run(model, x), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_a_weighted_mean_of_cross_entropies() -> None:
    x = np.array([[1, 2, 0.5], [0, 3, 1]], np.float32)
    labels, weights = np.array([2, 1]), np.array([0.2, 0.5, 0.3], np.float32)
    model = node(
        "SoftmaxCrossEntropyLoss", [tensor((2, 3)), tensor((2,), "si64"), tensor((3,))],
        "!torch.vtensor<[],f32>", reduction='"mean"',
    )  # fmt: skip
    losses = np.log(np.exp(x).sum(1)) - x[[0, 1], labels]
    wanted = (losses * weights[labels]).sum() / weights[labels].sum()
    np.testing.assert_allclose(run(model, x, labels, weights), wanted, rtol=1e-5)


FAKE = """
class TensorProto:
    EXTERNAL = 1
class Fields:
    def __init__(self, **fields): self.__dict__.update(fields)
def node(domain):
    return Fields(op_type="Foo", name="", output=["y"], domain=domain, attribute=[])
def load_model_from_string(data):
    if data == b"junk": raise ValueError("Error parsing message")
    graph = Fields(initializer=[], node=[node(data.decode())])
    return Fields(opset_import=[], functions=[], graph=graph)
def load(path):
    return open(path)
"""
INFERENCE = """
class InferenceError(Exception): pass
def infer_shapes(proto, check_type):
    if proto.graph.node[0].domain == "unknown":
        raise InferenceError("No opset import for domain unknown")
    return proto
"""


@pytest.fixture
def fake_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the name, with what is called before the importer of the MLIR wheel."""
    package = tmp_path / "onnx"
    package.mkdir()
    (package / "__init__.py").write_text(FAKE)
    (package / "shape_inference.py").write_text(INFERENCE)
    subprocess_worker._end_workers()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "onnx", raising=False)


@pytest.mark.usefixtures("fake_onnx")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"unknown", "the model is not valid: No opset import for domain unknown"),
        (b"junk", "this is not an ONNX model: Error parsing message"),
        ("no/such/model.onnx", "cannot be read: No such file or directory"),
        (3, "expected a path, bytes or an onnx.ModelProto, found int"),
    ],
)
def test_what_is_not_a_valid_model_is_a_users_error(source: Any, message: str) -> None:
    with pytest.raises(rl.UserError, match=message):
        rl.from_onnx(source)


@pytest.mark.usefixtures("fake_onnx")
def test_an_op_of_another_domain_is_rejected_with_its_name() -> None:
    with pytest.raises(
        rl.LimitationError, match="the op Foo of the node 'y' is from the domain com"
    ):
        rl.from_onnx(b"com.acme")
