"""Writing StableHLO functions as ONNX models; only the ops that the export of programs uses."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from riselang.frontends.onnx.element_types import type_of_element
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.stablehlo_graph import (
    GraphBlock,
    GraphFunction,
    GraphOp,
    GraphValue,
    TensorKind,
)
from riselang.support.errors import LimitationError

OPSET = 21
Names = dict[GraphValue, str]
ELEMENTWISE: Mapping[str, str] = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow",
    "maximum": "Max", "minimum": "Min", "negate": "Neg", "abs": "Abs", "sqrt": "Sqrt",
    "exponential": "Exp", "log": "Log", "sine": "Sin", "cosine": "Cos", "tan": "Tan",
    "tanh": "Tanh", "floor": "Floor", "ceil": "Ceil", "round_nearest_even": "Round",
    "sign": "Sign", "select": "Where", "chlo.asin": "Asin", "chlo.acos": "Acos",
    "chlo.atan": "Atan", "chlo.sinh": "Sinh", "chlo.cosh": "Cosh", "chlo.erf": "Erf",
}  # fmt: skip
LOGIC: Mapping[str, tuple[str, str]] = {
    "and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor"),
    "not": ("Not", "BitwiseNot"),
}  # fmt: skip
COMPARISONS: Mapping[str, str] = {
    "EQ": "Equal", "LT": "Less", "LE": "LessOrEqual", "GT": "Greater", "GE": "GreaterOrEqual",
}  # fmt: skip
REDUCTIONS: Mapping[str, str] = {
    "add": "ReduceSum", "multiply": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin",
}  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def kind_of(value: GraphValue) -> TensorKind:
    assert isinstance(value.type, TensorKind)
    return value.type


def shape_of(value: GraphValue) -> list[int]:
    return [int(length or 0) for length in kind_of(value).shape]


class Writer:
    """The nodes of a graph; those of a body are in a writer of their own."""

    def __init__(self, names: Names, counter: list[int]):
        self.helper: Any = importlib.import_module("onnx.helper")
        self.arrays: Any = importlib.import_module("onnx.numpy_helper")
        self.names = names
        self.counter = counter
        self.nodes: list[Any] = []

    def fresh(self) -> str:
        self.counter[0] += 1
        return f"v{self.counter[0]}"

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = self.fresh()
        self.nodes.append(self.helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, array: Any) -> str:
        return self.node("Constant", [], value=self.arrays.from_array(np.asarray(array)))

    def integers(self, numbers: Sequence[int]) -> str:
        return self.constant(np.array(list(numbers), np.int64))

    def cast(self, name: str, element: str) -> str:
        return self.node("Cast", [name], to=type_of_element(element))

    def info(self, name: str, value: GraphValue) -> Any:
        kind = kind_of(value)
        return self.helper.make_tensor_value_info(
            name, type_of_element(kind.element), shape_of(value)
        )

    def block(self, block: GraphBlock, arguments: Sequence[str]) -> list[str]:
        """Write the ops of a block for these arguments, and return its results."""
        for argument, name in zip(block.arguments, arguments, strict=True):
            self.names[argument] = name
        for op in block.operations[:-1]:
            self.operation(op)
        return [self.names[each] for each in block.operations[-1].operands]

    def operation(self, op: GraphOp) -> None:
        name = op.name.removeprefix("stablehlo.")
        for each in op.results:
            type_of_element(kind_of(each).element)  # refuses those that few ONNX ops have
        inputs = [self.names[each] for each in op.operands]
        if name in ELEMENTWISE:
            found: Any = self.node(ELEMENTWISE[name], inputs)
        elif name in LOGIC:
            is_boolean = kind_of(op.operands[0]).element == "i1"
            found = self.node(LOGIC[name][0 if is_boolean else 1], inputs)
        elif name in WRITERS:
            found = WRITERS[name](self, op, inputs)
        else:
            raise LimitationError(f"the op {op.name} cannot be exported to ONNX")
        results = found if isinstance(found, list) else [found]
        for value, result in zip(op.results, results, strict=True):
            self.names[value] = result


def _broadcast(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    shape = shape_of(op.results[0])
    ones = [1] * len(shape)
    lengths = shape_of(op.operands[0])
    for length, place in zip(lengths, op.attributes["broadcast_dimensions"], strict=True):
        ones[place] = length
    reshaped = writer.node("Reshape", [inputs[0], writer.integers(ones)], allowzero=1)
    return writer.node("Expand", [reshaped, writer.integers(shape)])


def _reshape(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    shape = writer.integers(shape_of(op.results[0]))
    return writer.node("Reshape", [inputs[0], shape], allowzero=1)


def _slice(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    parts = [op.attributes[name] for name in ("start_indices", "limit_indices")]
    rank = len(parts[0])
    numbers = [*parts, range(rank), op.attributes["strides"]]
    return writer.node("Slice", [inputs[0], *(writer.integers(each) for each in numbers)])


def _reverse(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    axes = op.attributes["dimensions"]
    count = len(axes)
    numbers = [[-1] * count, [-(2**63)] * count, axes, [-1] * count]
    return writer.node("Slice", [inputs[0], *(writer.integers(each) for each in numbers)])


def _iota(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    shape, axis = shape_of(op.results[0]), op.attributes["iota_dimension"]
    ones = [1] * len(shape)
    ones[axis] = shape[axis]
    counted = np.arange(shape[axis]).reshape(ones).astype(dtype_of(kind_of(op.results[0]).element))
    return writer.node("Expand", [writer.constant(counted), writer.integers(shape)])


def _gather(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    numbers = op.attributes["dimension_numbers"]
    if numbers["index_vector_dim"] == len(shape_of(op.operands[1])):
        return writer.node("Gather", inputs, axis=numbers["start_index_map"][0])
    return writer.node("GatherND", inputs)


def _dot(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    numbers = op.attributes["dot_dimension_numbers"]
    ranks = [len(shape_of(each)) for each in op.operands]
    letters = iter(LETTERS)
    left, right = ([""] * rank for rank in ranks)
    for kind in ("batching", "contracting"):
        pairs = [numbers[f"{side}_{kind}_dimensions"] for side in ("lhs", "rhs")]
        for a, b in zip(*pairs, strict=True):
            left[a] = right[b] = next(letters)
    batch = [left[k] for k in numbers["lhs_batching_dimensions"]]
    free: list[str] = []
    for term in (left, right):
        for k, each in enumerate(term):
            if not each:
                term[k] = next(letters)
                free.append(term[k])
    terms = ["".join(each) for each in (left, right, [*batch, *free])]
    return writer.node("Einsum", inputs, equation=f"{terms[0]},{terms[1]}->{terms[2]}")


def _reduce(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str | list[str]:
    axes = op.attributes["dimensions"]
    if len(op.results) == 2:
        # The index of the greatest element, by which `sort` is exported.
        first = writer.node("ReduceMax", [inputs[0], writer.integers(axes)], keepdims=0)
        return [first, writer.node("ArgMax", [inputs[0]], axis=axes[0], keepdims=0)]
    name = op.regions[0].operations[0].name.removeprefix("stablehlo.")
    if kind_of(op.operands[0]).element == "i1" and name in ("and", "or"):
        wide = writer.cast(inputs[0], "i32")
        reduction = "ReduceMin" if name == "and" else "ReduceMax"
        found = writer.node(reduction, [wide, writer.integers(axes)], keepdims=0)
        return writer.cast(found, "i1")
    if name not in REDUCTIONS:
        raise LimitationError(f"a reduction by {name} cannot be exported to ONNX")
    element = kind_of(op.operands[0]).element
    # ONNX reduces no integers of 8 and 16 bits; those of 64 bits wrap around alike.
    is_short = element in ("i8", "i16", "ui8", "ui16")
    given = writer.cast(inputs[0], "i64") if is_short else inputs[0]
    found = writer.node(REDUCTIONS[name], [given, writer.integers(axes)], keepdims=0)
    return writer.cast(found, element) if is_short else found


def _compare(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    direction, element = op.attributes["comparison_direction"], kind_of(op.operands[0]).element
    if element not in ("f32", "f64", "i32", "i64", "ui64"):
        wide = "f32" if element in ("f16", "bf16") else "i64"
        inputs = [writer.cast(each, wide) for each in inputs]
    if direction == "NE":
        return writer.node("Not", [writer.node("Equal", inputs)])
    return writer.node(COMPARISONS[direction], inputs)


def _convert(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    return writer.cast(inputs[0], kind_of(op.results[0]).element)


def _bitcast(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    elements = [kind_of(each).element for each in (op.operands[0], op.results[0])]
    if any(dtype_of(each).kind not in "iu" for each in elements):
        raise LimitationError("the bits of floats cannot be exported to ONNX")
    return _convert(writer, op, inputs)


def _remainder(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    return writer.node("Mod", inputs, fmod=1)


def _expm1(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    one = writer.constant(np.ones((), dtype_of(kind_of(op.results[0]).element)))
    return writer.node("Sub", [writer.node("Exp", inputs), one])


def _log1p(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> str:
    one = writer.constant(np.ones((), dtype_of(kind_of(op.results[0]).element)))
    return writer.node("Log", [writer.node("Add", [inputs[0], one])])


def _while(writer: Writer, op: GraphOp, inputs: Sequence[str]) -> list[str]:
    condition, body = op.regions
    (holds,) = writer.block(condition, inputs)
    inner = Writer(writer.names, writer.counter)
    number, going = inner.fresh(), inner.fresh()
    state = [inner.fresh() for _ in op.operands]
    new = [inner.node("Identity", [each]) for each in inner.block(body, state)]
    again = inner.node("Identity", inner.block(condition, new))
    helper = writer.helper
    boolean = type_of_element("i1")
    graph = helper.make_graph(
        inner.nodes, "body",
        [
            helper.make_tensor_value_info(number, type_of_element("i64"), []),
            helper.make_tensor_value_info(going, boolean, []),
            *(writer.info(name, value) for name, value in zip(state, op.operands, strict=True)),
        ],
        [
            helper.make_tensor_value_info(again, boolean, []),
            *(writer.info(name, value) for name, value in zip(new, op.results, strict=True)),
        ],
    )  # fmt: skip
    names = [writer.fresh() for _ in op.results]
    writer.nodes.append(helper.make_node("Loop", ["", holds, *inputs], names, body=graph))
    return names


WRITERS: Mapping[str, Callable[[Writer, GraphOp, Sequence[str]], str | list[str]]] = {
    "constant": lambda writer, op, _: writer.constant(op.attributes["value"]),
    "transpose": lambda writer, op, inputs: writer.node(
        "Transpose", inputs, perm=list(op.attributes["permutation"])
    ),
    "concatenate": lambda writer, op, inputs: writer.node(
        "Concat", inputs, axis=op.attributes["dimension"]
    ),
    "broadcast_in_dim": _broadcast, "reshape": _reshape, "slice": _slice, "reverse": _reverse,
    "iota": _iota, "gather": _gather, "dot_general": _dot, "reduce": _reduce,
    "compare": _compare, "convert": _convert, "bitcast_convert": _bitcast,
    "remainder": _remainder, "exponential_minus_one": _expm1, "log_plus_one": _log1p,
    "while": _while,
}  # fmt: skip


def onnx_model(function: GraphFunction) -> Any:
    """Return an `onnx.ModelProto` of a function."""
    writer = Writer({}, [0])
    body = function.body
    arguments = [each.name or f"x{k}" for k, each in enumerate(body.arguments)]
    arguments = [f"in{k}_{name}" for k, name in enumerate(arguments)]
    results = writer.block(body, arguments)
    outputs = [writer.node("Identity", [each]) for each in results]
    helper = writer.helper
    graph = helper.make_graph(
        writer.nodes, function.name,
        [writer.info(*pair) for pair in zip(arguments, body.arguments, strict=True)],
        [writer.info(*pair) for pair in zip(outputs, body.operations[-1].operands, strict=True)],
    )  # fmt: skip
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10,
        producer_name="riselang",
    )  # fmt: skip
