"""Read ONNX models: their files, their inputs, and their graphs for given arguments."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riselang.frontends.onnx import FRONT_END
from riselang.frontends.onnx.element_types import element_of_type, onnx_package, type_name
from riselang.frontends.onnx.importer import (
    DEFECTS,
    Importer,
    domain_of,
    load_ops,
)
from riselang.frontends.onnx.primitives.graph import Array, Graph, Shape, Value
from riselang.frontends.stablehlo.model.argument_names import argument_names
from riselang.native.mlir.stablehlo_graph import GraphFunction
from riselang.support.errors import InternalError, LimitationError, UserError

OLDEST_OPSET = 6


@dataclass(frozen=True)
class InputType:
    """The type of an input of a model."""

    name: str
    element: str
    shape: tuple[int | str | None, ...] | None
    """Lengths, or names of dynamic ones; None if even the rank is not known."""
    small_type: str = ""
    form: str = "tensor"
    """`tensor`, `sequence` or `optional`."""

    @property
    def is_static(self) -> bool:
        return self.shape is not None and all(isinstance(each, int) for each in self.shape)

    def __str__(self) -> str:
        if self.shape is None:
            return self.element
        return ".".join([*(str(each or "?") for each in self.shape), self.element])


@contextmanager
def blaming_invalid_models(proto: Any) -> Generator[None]:
    """Turn exceptions into users' errors if ONNX rejects the model, too; else they are bugs."""
    try:
        yield
    except (*DEFECTS, InternalError) as error:
        problem = _problem_of(proto)
        if problem:
            raise UserError(f"{FRONT_END}: the model is not valid: {problem}") from None
        if isinstance(error, InternalError):
            raise
        message = f"{FRONT_END}: the conversion failed with {type(error).__name__}: {error}"
        raise InternalError(message) from error


_CHECK = """
import sys, onnx, onnx.shape_inference
try:
    proto = onnx.load_model_from_string(sys.stdin.buffer.read())
    onnx.checker.check_model(proto)
    onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
except Exception as problem:
    print(" ".join(str(problem).split())[:300] or type(problem).__name__)
"""
CHECK_SECONDS = 60


def _problem_of(proto: Any) -> str:
    """Return why ONNX rejects a model, or an empty string.

    ONNX's shape inference ends the process on some models, so it runs in another one.
    """
    command = [sys.executable, "-c", _CHECK]
    try:
        done = subprocess.run(
            command, input=proto.SerializeToString(), capture_output=True, timeout=CHECK_SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    if done.returncode < 0:
        return "ONNX's shape inference crashes on it"
    return done.stdout.decode(errors="replace").strip()


def load_proto(source: str | Path | bytes | Any) -> Any:
    """Return the model in a file or in bytes, with all its weights."""
    onnx = onnx_package()
    try:
        if isinstance(source, bytes):
            proto = onnx.load_model_from_string(source)
        elif isinstance(source, str | Path):
            proto = onnx.load(str(source))
        elif hasattr(source, "SerializeToString"):
            proto = source
        else:
            raise UserError(
                f"{FRONT_END}: expected a path, bytes or an onnx.ModelProto, "
                f"found {type(source).__name__}"
            )
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror or error}") from None
    except UserError:
        raise
    except Exception as error:
        # The parsers of the file formats raise errors without a common base class.
        raise UserError(f"this is not an ONNX model: {error}") from None
    external = onnx.TensorProto.EXTERNAL
    if any(each.data_location == external for each in proto.graph.initializer):
        raise UserError(f"{FRONT_END}: the weights are in another file; pass the path of the model")
    _check_names(proto.graph)
    if not proto.graph.node and not proto.graph.output:
        raise UserError(f"{FRONT_END}: the model is empty")
    return proto


def _check_names(graph: Any) -> None:
    """Check that names are text; the parser returns bytes for those that are not UTF-8."""
    named = (*graph.input, *graph.output, *graph.initializer, *graph.node)
    names = [graph.name, *(each.name for each in named)]
    for node in graph.node:
        names += [node.op_type, node.domain, *node.input, *node.output]
        names += [each.name for each in node.attribute]
    if not all(isinstance(each, str) for each in names):
        raise UserError(f"{FRONT_END}: the model is not valid: a name is not text in UTF-8")


def input_types(proto: Any) -> list[InputType]:
    """Return the types of the inputs of a model without default values."""
    known = {each.name for each in proto.graph.initializer}
    given = [each for each in proto.graph.input if each.name not in known]
    names = argument_names([each.name for each in given])
    return [_input_type(each.type, name) for each, name in zip(given, names, strict=True)]


def _input_type(type: Any, name: str) -> InputType:
    form = type.WhichOneof("value")
    if form == "optional_type":
        inner = _input_type(type.optional_type.elem_type, name)
        return InputType(name, inner.element, None, inner.small_type, "optional")
    if form == "sequence_type":
        inner = _input_type(type.sequence_type.elem_type, name)
        return InputType(name, inner.element, None, inner.small_type, "sequence")
    if form != "tensor_type":
        raise LimitationError(f"{FRONT_END}: the input {name!r} is a {form}, not a tensor")
    try:
        element, small_type = element_of_type(type_name(type.tensor_type.elem_type))
    except LimitationError as error:
        raise LimitationError(f"{FRONT_END}: the input {name!r}: {error.message}") from None
    if not type.tensor_type.HasField("shape"):
        return InputType(name, element, None, small_type)
    lengths: list[int | str | None] = []
    for each in type.tensor_type.shape.dim:
        # Some exporters write -1 for a dynamic dimension.
        is_known = each.WhichOneof("value") == "dim_value" and each.dim_value >= 0
        lengths.append(each.dim_value if is_known else each.dim_param or None)
    return InputType(name, element, tuple(lengths), small_type)


@dataclass(frozen=True)
class Leaf:
    """A result: the number of a value of the program, or a known array."""

    position: int = -1
    array: Array | None = None
    small_type: str = ""


@dataclass(frozen=True)
class ConvertedGraph:
    """A model for given arguments."""

    function: GraphFunction
    results: Sequence[Any]
    """A tree of leaves: lists are sequences, None is an optional without an element."""


Argument = Any
"""A shape, an array whose value is known, a list of them, or None."""


def convert_graph(
    proto: Any, types: Sequence[InputType], arguments: Sequence[Argument], float: str
) -> ConvertedGraph:
    """Convert a model for a float permission.

    Raises `UnknownValueError` if it depends on the value of an input.
    """
    load_ops()
    opsets = {domain_of(each): each.version for each in proto.opset_import}
    _check_opset(opsets, proto.graph)
    graph = Graph(float)
    functions = {(domain_of(each), each.name): each for each in proto.functions}
    importer = Importer(graph, opsets, functions, {})
    known = {each.name for each in proto.graph.initializer}
    given = [each.name for each in proto.graph.input if each.name not in known]
    parameters: list[Value] = []

    def make(type: InputType, argument: Argument) -> Any:
        if argument is None:
            return None
        if isinstance(argument, list):
            parts: list[Any] = argument
            return [make(type, each) for each in parts]
        if isinstance(argument, np.ndarray):
            value = graph.constant(argument, type.element)
        else:
            name = type.name if type.form == "tensor" else f"{type.name}_{len(parameters)}"
            shape: Shape = tuple(argument)
            value = graph.argument(name, (shape, type.element), frozenset([type.name]))
            parameters.append(value)
        value.small_type = type.small_type
        return value

    for name, type, argument in zip(given, types, arguments, strict=True):
        importer.scope[name] = make(type, argument)
    outputs = importer.run_graph(proto.graph)
    results: list[Value] = []

    def leaf(value: Any) -> Any:
        if isinstance(value, list):
            parts: list[Any] = value
            return [leaf(each) for each in parts]
        if value is None:
            return None
        if value.array is not None:
            return Leaf(array=value.array, small_type=value.small_type)
        results.append(value)
        return Leaf(len(results) - 1, small_type=value.small_type)

    tree = [leaf(each) for each in outputs]
    name = proto.graph.name if proto.graph.name.isidentifier() else "main"
    function = GraphFunction(name, graph.finish(parameters, results), (), None)
    return ConvertedGraph(function, tree)


def _check_opset(opsets: Mapping[str, int], graph: Any) -> None:
    version = opsets.get("", OLDEST_OPSET)
    changed = _ops_changed_since(version, graph) if version < OLDEST_OPSET else []
    if changed:
        raise LimitationError(
            f"{FRONT_END}: the model has the op set {version}, but the oldest supported one of the "
            f"op {changed[0]} is {OLDEST_OPSET}; convert it with onnx.version_converter"
        )
    newest = importlib.import_module("onnx.defs").onnx_opset_version()
    if version > newest:
        raise LimitationError(
            f"{FRONT_END}: the model has the op set {version}, but the installed onnx package "
            f"knows {newest}; install a newer one"
        )


def _ops_changed_since(version: int, graph: Any) -> list[str]:
    """Return the ops of a graph that the oldest op set defines otherwise than an older one."""
    defs = importlib.import_module("onnx.defs")
    changed: list[str] = []
    for op in sorted({each.op_type for each in graph.node}):
        try:
            old, new = (defs.get_schema(op, each, "") for each in (version, OLDEST_OPSET))
        except defs.SchemaError:
            changed.append(op)
            continue
        if old.since_version != new.since_version:
            changed.append(op)
    return changed
