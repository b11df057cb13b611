"""Convert the graph of a model, node by node."""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from riselang.frontends.onnx.element_types import (
    element_of_type,
    onnx_package,
    type_name,
    type_of_element,
)
from riselang.frontends.onnx.node_checks import check_node
from riselang.frontends.onnx.primitives.graph import Graph, UnknownValueError, Value
from riselang.frontends.onnx.registry import OPS, Input, Node
from riselang.support.counts import format_count
from riselang.support.errors import InternalError, LimitationError, RiseError, UserError

OP_MODULES = (
    "elementwise", "activations", "casts", "shapes", "indexing", "reductions", "contractions",
    "convolutions", "pooling", "normalization", "control_flow", "sequences", "quantized",
    "generators", "recurrent", "resizing", "vision", "signals", "selection",
    "training",
)  # fmt: skip
"""The modules that register ops."""
DEFAULT_DOMAINS = ("", "ai.onnx")
MAX_EXPANSION_DEPTH = 32
Scope = MutableMapping[str, Input]


def load_ops() -> None:
    for name in OP_MODULES:
        importlib.import_module(f"riselang.frontends.onnx.ops.{name}")


class NodeError(LimitationError):
    """An error that names a node."""


DEFECTS = (
    LookupError, ValueError, AttributeError, AssertionError, TypeError, ArithmeticError,
    VerifyException,
)  # fmt: skip
"""The exceptions that a model that is not valid, or a bug in a conversion, causes."""


class NodeDefect(InternalError):
    """An exception in the conversion of a node."""

    def __init__(self, op: str, name: str, error: Exception):
        super().__init__(
            f"the conversion of the op {op} of the node {name!r} failed with "
            f"{type(error).__name__}: {error}"
        )


def domain_of(proto: Any) -> str:
    return "" if proto.domain in DEFAULT_DOMAINS else proto.domain


def tensor_array(proto: Any) -> np.ndarray[Any, Any]:
    try:
        return onnx_package().numpy_helper.to_array(proto)
    except MemoryError:
        raise
    except Exception as error:
        # ONNX raises errors of several classes for data that do not fit the shape or the type.
        raise UserError(
            f"the model is not valid: the tensor {proto.name!r} cannot be read: {error}"
        ) from None


class Importer:
    """Converts nodes in a scope of names, with the op sets of their model or function."""

    def __init__(
        self,
        graph: Graph,
        opsets: Mapping[str, int],
        functions: Mapping[tuple[str, str], Any],
        scope: Scope,
        depth: int = 0,
    ):
        self.graph = graph
        self.opsets = opsets
        self.functions = functions
        self.scope = scope
        self._depth = depth
        self._attributes: Mapping[str, Any] = {}
        """The attributes of the function that is expanded."""

    # Tensors

    def tensor(self, proto: Any) -> Value:
        """Return a constant of the model."""
        element, small_type = element_of_type(type_name(proto.data_type))
        array = tensor_array(proto)
        value = self.graph.constant(array.astype(np.float32) if small_type else array, element)
        value.small_type = small_type
        return value

    def run_graph(self, graph: Any) -> list[Input]:
        """Convert the nodes of a graph in the current scope, and return its outputs."""
        for each in graph.initializer:
            if each.name not in self.scope:
                self.scope[each.name] = self.tensor(each)
        if graph.sparse_initializer:
            for each in graph.sparse_initializer:
                self.scope[each.values.name] = self.sparse_tensor(each)
        for proto in graph.node:
            self.convert_node(proto)
        return [self._find(each.name) for each in graph.output]

    def sparse_tensor(self, proto: Any) -> Value:
        values, indices = tensor_array(proto.values), tensor_array(proto.indices)
        dense = np.zeros(tuple(proto.dims), values.dtype)
        if indices.ndim == 1:
            dense.reshape(-1)[indices] = values
        else:
            dense[tuple(indices.T)] = values
        return self.graph.constant(dense)

    def call(self, graph: Any, arguments: Sequence[Input]) -> list[Input]:
        if len(graph.input) != len(arguments):
            raise LimitationError(
                f"the graph {graph.name!r} has {format_count(len(graph.input), 'input')}, but gets "
                f"{len(arguments)}"
            )
        inner = self._inner(ChainMap({}, self.scope), self.opsets)
        inner._attributes = self._attributes
        for each, value in zip(graph.input, arguments, strict=True):
            inner.scope[each.name] = value
        return inner.run_graph(graph)

    def _inner(self, scope: Scope, opsets: Mapping[str, int]) -> Importer:
        return Importer(self.graph, opsets, self.functions, scope, self._depth + 1)

    def _find(self, name: str) -> Input:
        if name not in self.scope:
            raise UserError(f"the model is not valid: nothing computes {name!r}")
        return self.scope[name]

    # Nodes

    def convert_node(self, proto: Any) -> None:
        name = proto.name or next(filter(None, proto.output), "")
        output = next(filter(None, proto.output), "")
        outer, self.graph.label = self.graph.label, self.graph.label or proto.op_type
        if not self._depth or not outer:
            self.graph.label = f"{proto.op_type} of the node {name!r}, output {output!r}"
        try:
            inputs = [self._find(each) if each else None for each in proto.input]
            results = self._convert(proto, inputs)
        except NodeError:
            raise
        except UnknownValueError as error:
            error.node = f"the op {proto.op_type} of the node {name!r} (output {output!r})"
            raise
        except LimitationError as error:
            raise NodeError(
                f"the op {proto.op_type} of the node {name!r} (output {output!r}) is not supported "
                f"here: {error.message}", None, *error.notes,
            ) from None  # fmt: skip
        except RiseError:
            raise
        except MemoryError as error:
            raise NodeError(
                f"the op {proto.op_type} of the node {name!r} (output {output!r}) needs more "
                f"memory than there is: {error}"
            ) from None
        except DEFECTS as error:
            raise NodeDefect(proto.op_type, name, error) from error
        finally:
            self.graph.label = outer
        for each, value in zip(proto.output, results, strict=False):
            if each:
                self.scope[each] = value

    def convert_op(
        self, op: str, inputs: Sequence[Input], attributes: Mapping[str, Any], outputs: int = 1
    ) -> list[Input]:
        version = self.opsets.get("", 1)
        names = [f"output{k}" for k in range(outputs)]
        node = Node(op, "", version, inputs, attributes, names, self.graph, self)
        return _as_list(OPS["", op].convert(node))

    def _convert(self, proto: Any, inputs: list[Input]) -> list[Input]:
        domain = domain_of(proto)
        if (domain, proto.op_type) in self.functions:
            return self._expand(proto, inputs, self.functions[domain, proto.op_type])
        if domain not in self.opsets:
            raise LimitationError(f"the model does not state the version of the domain {domain!r}")
        check_node(proto, domain, self.opsets[domain], inputs)
        found = OPS.get((domain, proto.op_type))
        if found is None:
            return self._expand_schema(proto, inputs, domain)
        node = Node(
            proto.op_type, domain, self.opsets[domain], inputs, self._read_attributes(proto),
            list(proto.output), self.graph, self,
        )  # fmt: skip
        small = [each.small_type for each in inputs if isinstance(each, Value)]
        if any(small) and not found.keeps_small_types and proto.op_type not in READS_SMALL_TYPES:
            types = ", ".join(sorted({each.lower() for each in small if each}))
            raise LimitationError(f"it is not defined for {types} elements")
        results = _as_list(found.convert(node))
        if found.keeps_small_types and small and small[0]:
            for each in results:
                if isinstance(each, Value) and not each.small_type:
                    each.small_type = small[0]
        return results

    def _read_attributes(self, proto: Any) -> dict[str, Any]:
        helper = onnx_package().helper
        found: dict[str, Any] = {}
        for each in proto.attribute:
            if each.ref_attr_name:
                if each.ref_attr_name in self._attributes:
                    found[each.name] = self._attributes[each.ref_attr_name]
                continue
            found[each.name] = helper.get_attribute_value(each)
        return found

    # Functions

    def _expand_schema(self, proto: Any, inputs: list[Input], domain: str) -> list[Input]:
        """Convert the function that defines an op in ONNX."""
        onnx, version = onnx_package(), self.opsets[domain]
        try:
            schema = onnx.defs.get_schema(proto.op_type, version, domain)
        except onnx.defs.SchemaError:
            raise LimitationError(
                f"the domain {domain or 'ai.onnx'!r} has no such op in version {version}, and the "
                "model has no function of this name"
            ) from None
        if self._depth > MAX_EXPANSION_DEPTH:
            raise LimitationError("the functions that define it call each other")
        content: bytes = b""
        if schema.has_context_dependent_function:
            node = self._resolved(proto)
            types = [self._type_of(each).SerializeToString() for each in inputs]
            for wanted in sorted(schema.context_dependent_function_opset_versions, reverse=True):
                if wanted <= version and not content:
                    content = schema.get_context_dependent_function_with_opset_version(
                        wanted, node.SerializeToString(), types
                    )
        elif schema.has_function:
            for wanted in sorted(schema.function_opset_versions, reverse=True):
                if wanted <= version and not content:
                    content = schema.get_function_with_opset_version(wanted)
            content = content or schema.function_body.SerializeToString()
        if not content:
            raise LimitationError("it has no conversion to patterns")
        function = onnx.FunctionProto()
        function.ParseFromString(content)
        defaults = {
            name: onnx.helper.get_attribute_value(each.default_value)
            for name, each in schema.attributes.items()
            if each.default_value.name
        }
        return self._expand(proto, inputs, function, defaults)

    def _resolved(self, proto: Any) -> Any:
        """Return a copy of a node without references to the attributes of a function."""
        onnx = onnx_package()
        copy = onnx.NodeProto()
        copy.CopyFrom(proto)
        del copy.attribute[:]
        for name, value in self._read_attributes(proto).items():
            copy.attribute.append(onnx.helper.make_attribute(name, value))
        return copy

    def _type_of(self, value: Input) -> Any:
        """Return the type of a value, as ONNX writes it."""
        onnx = onnx_package()
        if isinstance(value, Value):
            number = type_of_element(value.element, value.small_type)
            return onnx.helper.make_tensor_type_proto(number, value.shape)
        if isinstance(value, list) and value:
            inner = self._type_of(value[0])
            return onnx.helper.make_sequence_type_proto(inner)
        return onnx.TypeProto()

    def _expand(
        self,
        proto: Any,
        inputs: list[Input],
        function: Any,
        defaults: Mapping[str, Any] | None = None,
    ) -> list[Input]:
        if self._depth > MAX_EXPANSION_DEPTH:
            raise LimitationError("the functions of the model call each other")
        opsets = {domain_of(each): each.version for each in function.opset_import}
        inner = self._inner({}, {**self.opsets, **opsets})
        helper = onnx_package().helper
        given = {each.name: helper.get_attribute_value(each) for each in function.attribute_proto}
        inner._attributes = {**(defaults or {}), **given, **self._read_attributes(proto)}
        for position, name in enumerate(function.input):
            value = inputs[position] if position < len(inputs) else None
            inner.scope[name] = value
        for node in function.node:
            inner.convert_node(node)
        used = [position < len(proto.output) and proto.output[position] for position, _ in
                enumerate(function.output)]  # fmt: skip
        return [
            inner._find(name) if is_used or name in inner.scope else None
            for name, is_used in zip(function.output, used, strict=True)
        ]


READS_SMALL_TYPES = (
    "Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Constant", "If", "Loop", "Scan",
    "BitCast", "Shape", "Size",
)  # fmt: skip
"""Ops that take elements of small types and know what they are."""


def _as_list(results: Any) -> list[Input]:
    return list(results) if isinstance(results, list | tuple) else [results]
