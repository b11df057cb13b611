"""Lowering of a StableHLO function to a term: op by op, with clustered elementwise ops in one
map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_printer import format_type
from riselang.frontends.stablehlo.clusters import cluster_roots
from riselang.frontends.stablehlo.elements import TensorType, tensor_type
from riselang.frontends.stablehlo.ops import (
    bitwise,
    control_flow,
    convolution,
    data_movement,
    dot_general,
    dynamic_indexing,
    elementwise,
    lapack,
    reduction,
    rng,
    rng_bit_generator,
    triangular_solve,
)
from riselang.frontends.stablehlo.registry import (
    ELEMENTWISE_LOWERINGS,
    STRUCTURAL_OPS,
    TENSOR_LOWERINGS,
    TypedOp,
    location_notes,
    supported_op_names,
)
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    array_type,
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
    rng, rng_bit_generator, reduction, triangular_solve, lapack,
)  # fmt: skip
"""The modules that register ops."""


@dataclass(frozen=True)
class Program:
    """A function as a term: its arguments first, then its constants."""

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
"""The exceptions of a wrong lowering function."""
IDENTITY_CALLS = ("Sharding", "annotate_device_placement")
"""Custom calls without an effect."""


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
    """Raise an error for a program with unsupported ops, located at the first of them."""
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
    """An op of the body that is not supported in its form."""

    def __init__(self, error: LimitationError, op: GraphOp):
        super().__init__(error.message, error.location or op.location, *error.notes)
        self.op = op


def _unsupported_op(error: LimitationError, op: GraphOp) -> GraphOp:
    """Return an op, or the unsupported one in its map; ops in its regions are a part of it."""
    is_map = op_name(op) in ELEMENTWISE_LOWERINGS
    return error.op if is_map and isinstance(error, UnsupportedOp) else op


def lower_function(
    function: GraphFunction, names: Sequence[str], whole_function: GraphFunction | None = None
) -> Program:
    """Lower a function, or a part of a whole one, to a term; `names` are its parameter names."""
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
    draws = [op for op in function.body.operations if op.name == "stablehlo.rng"]
    return {op: number for number, op in enumerate(draws)}


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
        return [self._values[each] for each in region.operations[-1].operands]

    def _lower_op(self, op: GraphOp) -> None:
        outer, self.builder.location = self.builder.location, op.location
        try:
            found = self._lower_to_tensors(op)
        except LimitationError as error:
            raise UnsupportedOp(error, _unsupported_op(error, op)) from None
        except RiseError as error:
            raise error.with_location(op.location) from None
        except _DEFECTS as error:
            raise _defect(op, error) from error
        finally:
            self.builder.location = outer
        for value, tensor in zip(op.results, found, strict=True):
            self._values[value] = tensor

    def _lower_to_tensors(self, op: GraphOp) -> list[Tensor]:
        read = replace(_make_op(op), stream=self._streams.get(op))
        found = self._lower_typed_op(op, read)
        _check_results(read, found)
        return found

    def _lower_typed_op(self, op: GraphOp, read: TypedOp) -> list[Tensor]:
        is_empty = bool(read.results) and all(0 in each.shape for each in read.results)
        if is_empty and read.name != "stablehlo.while":
            return [self._empty_tensor(each) for each in read.results]
        if read.name in ELEMENTWISE_LOWERINGS:
            return [self._lower_cluster(op, read)]
        found = TENSOR_LOWERINGS[read.name](
            self, read, [self._values[each] for each in op.operands]
        )
        return found if isinstance(found, list) else [found]

    def _empty_tensor(self, type: TensorType) -> Tensor:
        """Return a tensor without elements; the op computes nothing."""
        return zero_tensor(self.builder, type.element, type.shape)

    def _lower_cluster(self, root: GraphOp, read: TypedOp) -> Tensor:
        """Build the map that computes an elementwise op and those that only it needs."""
        members = self._cluster_members(root)
        made = {op.results[0] for op in members}
        operands = dict.fromkeys(each for op in members for each in op.operands)
        leaves = [each for each in operands if each not in made]
        tensors = [_broadcast_scalar(self._values[each], read.result.shape) for each in leaves]

        def scalar(nodes: list[Node]) -> Node:
            known = dict(zip(leaves, nodes, strict=True))
            for op in members:
                self.builder.location = op.location
                operands = [known[each] for each in op.operands]
                known[op.results[0]] = self._lower_scalar(op, operands)
            return known[root.results[0]]

        return map_elements(self.builder, tensors, read.result.shape, read.result.element, scalar)

    def _lower_scalar(self, op: GraphOp, operands: Sequence[Node]) -> Node:
        try:
            named = _make_op(op)
            return ELEMENTWISE_LOWERINGS[named.name](self.builder, named, operands)
        except LimitationError as error:
            raise UnsupportedOp(error, op) from None
        except _DEFECTS as error:
            raise _defect(op, error) from error

    def _cluster_members(self, root: GraphOp) -> list[GraphOp]:
        """Return an op and the pending ops of its cluster, in topological order."""
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
    """Raise an error if the lowering of an op returns tensors of other types than it declares."""
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


def _make_op(op: GraphOp) -> TypedOp:
    name = op_name(op)
    operands = tuple(
        tensor_type(each, f"operand {k + 1} of {name}", op.location)
        for k, each in enumerate(op.operands)
    )
    results = tuple(tensor_type(each, f"the result of {name}", op.location) for each in op.results)
    return TypedOp(name, operands, results, op.attributes, op.regions, op.location, op.label)
