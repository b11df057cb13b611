"""Lower a StableHLO function to a term, op by op; a cluster of elementwise ops becomes one map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_printer import format_type
from riselang.frontends.stablehlo.clusters import cluster_roots
from riselang.frontends.stablehlo.elements import COMPLEX_OPS, TensorType, tensor_type
from riselang.frontends.stablehlo.ops import (
    bitwise,
    control_flow,
    convolution,
    data_movement,
    decompositions,
    dot_general,
    dynamic_indexing,
    elementwise,
    fourier,
    lapack,
    reduction,
    rng,
    rng_bit_generator,
    triangular_solve,
)
from riselang.frontends.stablehlo.registry import (
    ELEMENTWISE_LOWERINGS,
    ORDER_KEEPING_OPS,
    STRUCTURAL_OPS,
    TENSOR_LOWERINGS,
    TypedOp,
    location_notes,
    supported_op_names,
)
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    array_type,
    in_order,
    map_elements,
    materialize,
    whole_tensor,
    zero_tensor,
)
from riselang.frontends.term_builder import Builder, drop_to_mem
from riselang.native.mlir.stablehlo_graph import (
    GraphBlock,
    GraphFunction,
    GraphOp,
    GraphValue,
    TensorKind,
)
from riselang.support.errors import InternalError, LimitationError, RiseError
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term

OP_MODULES = (
    elementwise, bitwise, dot_general, control_flow, convolution, dynamic_indexing, data_movement,
    rng, rng_bit_generator, reduction, triangular_solve, lapack, fourier, decompositions,
)  # fmt: skip
"""The modules that register ops."""


@dataclass(frozen=True)
class Program:
    """A function as a term, whose parameters are the arguments followed by the constants."""

    name: str
    term: Term
    arguments: tuple[TensorType, ...]
    argument_names: tuple[str, ...]
    results: tuple[TensorType, ...]
    constants: tuple[np.ndarray[Any, Any], ...]


_DEFECTS = (
    LookupError, ValueError, AttributeError, AssertionError, TypeError, ArithmeticError,
    VerifyException,
)  # fmt: skip
"""The exceptions that indicate a bug in a lowering function."""
IDENTITY_CALLS = ("Sharding", "annotate_device_placement")
"""Custom calls that return their operands unchanged."""


def op_name(op: GraphOp) -> str:
    """Return the name under which an op is registered; for a math library call, its CHLO name."""
    if op.name == "stablehlo.bitcast_convert" and _tensor_rank(op.operands[0]) != _tensor_rank(
        op.results[0]
    ):
        return bitwise.BITCAST_PARTS
    if op.name != "stablehlo.custom_call":
        return op.name
    target = str(op.attributes.get("call_target_name"))
    if target in IDENTITY_CALLS:
        return "stablehlo.optimization_barrier"
    return target if target in ELEMENTWISE_LOWERINGS else f"stablehlo.custom_call @{target}"


def _tensor_rank(value: GraphValue) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorKind) else 0


def check_supported(function: GraphFunction) -> None:
    """Raise an error if a function contains unsupported ops, located at one of them."""
    known = {*TENSOR_LOWERINGS, *ELEMENTWISE_LOWERINGS, *STRUCTURAL_OPS}
    missing = [op for op in function.body.walk() if op_name(op) not in known]
    if not missing:
        return
    names = sorted({op_name(op) for op in missing})
    more = f" (also in this program: {', '.join(names[1:])})" if len(names) > 1 else ""
    first = next(op for op in missing if op_name(op) == names[0])
    raise LimitationError(
        f"{names[0]} is not supported{more}",
        first.location,
        *location_notes(first.label),
        f"the supported ops are: {', '.join(supported_op_names())}",
    )


class UnsupportedOp(LimitationError):
    """An op whose types, attributes or operands are not supported, although its name is."""

    def __init__(self, error: LimitationError, op: GraphOp):
        super().__init__(error.message, error.location or op.location, *error.notes)
        self.op = op


def _unsupported_op(error: LimitationError, op: GraphOp) -> GraphOp:
    """Return the op to report: the unsupported op of a cluster, otherwise `op` with its regions."""
    is_cluster = op_name(op) in ELEMENTWISE_LOWERINGS
    return error.op if is_cluster and isinstance(error, UnsupportedOp) else op


def lower_function(
    function: GraphFunction, names: Sequence[str], whole_function: GraphFunction | None = None
) -> Program:
    """Lower a function to a term; `names` are its parameter names.

    If it is a part of a larger function, `whole_function` is that function.
    """
    check_supported(function)
    lowering = FunctionLowering(_rng_streams(whole_function or function))
    types = [
        tensor_type(each, f"argument {name}", function.location)
        for each, name in zip(function.body.arguments, names, strict=True)
    ]
    variables = [
        lowering.builder.parameter(name, array_type(type.element, type.shape))
        for type, name in zip(types, names, strict=True)
    ]
    tensors = [
        whole_tensor(type.element, type.shape, node)
        for type, node in zip(types, variables, strict=True)
    ]
    results = lowering.lower_region(function.body, tensors)
    if not results:
        raise LimitationError(f"the function {function.name} returns nothing", function.location)
    builder = lowering.builder
    body = builder.tuple([drop_to_mem(materialize(builder, each)) for each in results])
    with builder.at_location(function.location):
        root = builder.program([*variables, *lowering.variables], body)
    return Program(
        function.name, finish(root, stores_once=True), tuple(types), tuple(names),
        tuple(TensorType(each.shape, each.element) for each in results),
        tuple(lowering.constants),
    )  # fmt: skip


def _rng_streams(function: GraphFunction) -> dict[GraphOp, int]:
    """Return the key of the random number generator for each `rng` op: its index among them."""
    rng_ops = [op for op in function.body.operations if op.name == "stablehlo.rng"]
    return {op: index for index, op in enumerate(rng_ops)}


class FunctionLowering:
    """The state of lowering one program to a term."""

    def __init__(self, streams: Mapping[GraphOp, int]) -> None:
        self.builder = Builder()
        self._streams = streams
        self.variables: list[build.Variable] = []
        """The parameters for constants."""
        self.constants: list[np.ndarray[Any, Any]] = []
        self._outermost = self.builder.scope
        self._values: dict[GraphValue, Tensor] = {}
        self._waiting: dict[GraphValue, GraphOp] = {}
        """Elementwise ops that become part of another op's map."""

    def add_constant(self, value: np.ndarray[Any, Any], type: TensorType) -> Tensor:
        name = f"constant{len(self.constants)}"
        kind = array_type(type.element, type.shape)
        variable = build.Variable(kind, name, scope=self._outermost)
        self.variables.append(variable)
        self.constants.append(np.ascontiguousarray(value))
        return whole_tensor(type.element, type.shape, variable)

    def lower_region(self, region: GraphBlock, arguments: Sequence[Tensor]) -> list[Tensor]:
        for argument, tensor in zip(region.arguments, arguments, strict=True):
            self._values[argument] = tensor
        root_of = cluster_roots(region, lambda op: op_name(op) in ELEMENTWISE_LOWERINGS)
        for op in region.operations[:-1]:
            if root_of.get(op, op) is not op:
                self._waiting[op.results[0]] = op
                continue
            self._lower_op(op)
        results = [self._values[each] for each in region.operations[-1].operands]
        return [in_order(self.builder, each) for each in results]

    def _lower_op(self, op: GraphOp) -> None:
        outer_location, self.builder.location = self.builder.location, op.location
        try:
            tensors = self._lower_to_tensors(op)
        except LimitationError as error:
            raise UnsupportedOp(error, _unsupported_op(error, op)) from None
        except RiseError as error:
            raise error.with_location(op.location) from None
        except _DEFECTS as error:
            raise _defect(op, error) from error
        finally:
            self.builder.location = outer_location
        for value, tensor in zip(op.results, tensors, strict=True):
            self._values[value] = tensor

    def _lower_to_tensors(self, op: GraphOp) -> list[Tensor]:
        typed_op = replace(_typed_op(op), stream=self._streams.get(op))
        tensors = self._lower_typed_op(op, typed_op)
        _check_results(typed_op, tensors)
        return tensors

    def _lower_typed_op(self, op: GraphOp, typed_op: TypedOp) -> list[Tensor]:
        is_empty = bool(typed_op.results) and all(0 in each.shape for each in typed_op.results)
        if is_empty and typed_op.name != "stablehlo.while":
            return [self._empty_tensor(each) for each in typed_op.results]
        if typed_op.name in ELEMENTWISE_LOWERINGS:
            return [self._lower_cluster(op, typed_op)]
        operands = [self._values[each] for each in op.operands]
        if typed_op.name not in ORDER_KEEPING_OPS:
            operands = [in_order(self.builder, each) for each in operands]
        lowered = TENSOR_LOWERINGS[typed_op.name](self, typed_op, operands)
        return lowered if isinstance(lowered, list) else [lowered]

    def _empty_tensor(self, type: TensorType) -> Tensor:
        """Return a tensor without elements; the op computes nothing."""
        return zero_tensor(self.builder, type.element, type.shape)

    def _lower_cluster(self, root: GraphOp, typed_root: TypedOp) -> Tensor:
        """Build the map that computes an elementwise op and the other ops of its cluster."""
        members = self._cluster_members(root)
        internal = {op.results[0] for op in members}
        used = dict.fromkeys(each for op in members for each in op.operands)
        leaves = [each for each in used if each not in internal]
        result = typed_root.result
        tensors = [_broadcast_scalar(self._values[each], result.shape) for each in leaves]

        def compute_element(nodes: list[Node]) -> Node:
            node_of = dict(zip(leaves, nodes, strict=True))
            for op in members:
                self.builder.location = op.location
                operands = [node_of[each] for each in op.operands]
                node_of[op.results[0]] = self._lower_scalar(op, operands)
            return node_of[root.results[0]]

        return map_elements(self.builder, tensors, result.shape, result.element, compute_element)

    def _lower_scalar(self, op: GraphOp, operands: Sequence[Node]) -> Node:
        try:
            typed_op = _typed_op(op)
            return ELEMENTWISE_LOWERINGS[typed_op.name](self.builder, typed_op, operands)
        except LimitationError as error:
            raise UnsupportedOp(error, op) from None
        except _DEFECTS as error:
            raise _defect(op, error) from error

    def _cluster_members(self, root: GraphOp) -> list[GraphOp]:
        """Return an op and the waiting ops of its cluster, in topological order."""
        found: dict[GraphOp, None] = {}
        stack = [root]
        while stack:
            op = stack[-1]
            needed = [self._waiting[each] for each in op.operands if each in self._waiting]
            missing = [each for each in needed if each not in found]
            if missing:
                stack.extend(reversed(missing))
                continue
            found.setdefault(stack.pop())
        return list(found)


def _defect(op: GraphOp, error: Exception) -> InternalError:
    """Return the error for an exception in the lowering function of an op."""
    return InternalError(
        f"the lowering of {op_name(op)} failed with {type(error).__name__}: {error}",
        op.location,
        *location_notes(op.label),
    )


def _check_results(op: TypedOp, found: Sequence[Tensor]) -> None:
    """Raise an error if a lowering returns tensors of types other than those of its op."""
    returned = tuple(TensorType(each.shape, each.element) for each in found)
    if returned != op.results:
        raise InternalError(
            f"the lowering of {op.name} returns {_format_types(returned)}, but the op declares "
            f"{_format_types(op.results)}",
            op.location,
            *location_notes(op.label),
        )
    for tensor in found:
        made = tensor.make().type
        expected = array_type(tensor.element, [tensor.shape[each] for each in tensor.varying])
        if made != expected:
            raise InternalError(
                f"the lowering of {op.name} returns an array of type {format_type(made)} for a "
                f"tensor that needs {format_type(expected)}",
                op.location,
                *location_notes(op.label),
            )


def _format_types(types: Sequence[TensorType]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _broadcast_scalar(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Broadcast a scalar operand to the shape of the others."""
    if tensor.rank == 0 and shape:
        return replace(tensor, shape=tuple(shape))
    return tensor


def _typed_op(op: GraphOp) -> TypedOp:
    name = op_name(op)
    operands = tuple(
        tensor_type(each, f"operand {k + 1} of {name}", op.location)
        for k, each in enumerate(op.operands)
    )
    results = tuple(tensor_type(each, f"the result of {name}", op.location) for each in op.results)
    typed_op = TypedOp(name, operands, results, op.attributes, op.regions, op.location, op.label)
    complex_types = [each for each in (*operands, *results) if each.element.is_complex]
    if complex_types and name not in COMPLEX_OPS:
        raise typed_op.unsupported(f"it is not defined on elements {complex_types[0].element.name}")
    return typed_op
