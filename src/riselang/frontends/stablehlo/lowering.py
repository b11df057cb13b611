"""Lowering of a StableHLO function to a term: op by op, with clustered elementwise ops in one
map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riselang.frontends.building import Builder, unstored
from riselang.frontends.stablehlo.clusters import roots
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
    ELEMENTWISE,
    STRUCTURAL,
    WHOLE,
    Op,
    place_notes,
    supported,
)
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    array_type,
    combined,
    node_of,
    whole,
    zeros,
)
from riselang.native.mlir.stablehlo_graph import (
    GraphBlock,
    GraphFunction,
    GraphOp,
    GraphValue,
    TensorKind,
)
from riselang.support.errors import LimitationError, RiseError
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


CALLS = ("Sharding", "annotate_device_placement")
"""Custom calls without an effect."""


def op_name(op: GraphOp) -> str:
    """Return the name under which an op is registered; for a math library call, its CHLO name."""
    if op.name == "stablehlo.bitcast_convert" and _rank(op.operands[0]) != _rank(op.results[0]):
        return bitwise.PARTS
    if op.name != "stablehlo.custom_call":
        return op.name
    target = str(op.attributes.get("call_target_name"))
    if target in CALLS:
        return "stablehlo.optimization_barrier"
    return target if target in ELEMENTWISE else f"stablehlo.custom_call @{target}"


def _rank(value: GraphValue) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorKind) else 0


def check_supported(function: GraphFunction) -> None:
    """Raise an error for a program with unsupported ops, located at the first of them."""
    known = {*WHOLE, *ELEMENTWISE, *STRUCTURAL}
    missing = [op for op in function.body.walk() if op_name(op) not in known]
    if not missing:
        return
    names = sorted({op_name(op) for op in missing})
    more = f" (also in this program: {', '.join(names[1:])})" if len(names) > 1 else ""
    first = next(op for op in missing if op_name(op) == names[0])
    raise LimitationError(
        f"{names[0]} is not supported{more}",
        first.location,
        *place_notes(first.label),
        f"supported are: {', '.join(supported())}",
    )


class RefusedOp(LimitationError):
    """An op of the body that is not supported in its form."""

    def __init__(self, error: LimitationError, op: GraphOp):
        super().__init__(error.message, error.location or op.location, *error.notes)
        self.op = op


def _culprit(error: LimitationError, op: GraphOp) -> GraphOp:
    """Return an op, or the unsupported one in its map; ops in its regions are a part of it."""
    is_map = op_name(op) in ELEMENTWISE
    return error.op if is_map and isinstance(error, RefusedOp) else op


def lower(
    function: GraphFunction, names: Sequence[str], whole_function: GraphFunction | None = None
) -> Program:
    """Lower a function, or a part of a whole one, to a term; `names` are its parameter names."""
    check_supported(function)
    lowering = Lowering(_streams(whole_function or function))
    types = [
        tensor_type(each, f"argument {name}", function.location)
        for each, name in zip(function.body.arguments, names, strict=True)
    ]
    variables = [
        lowering.builder.parameter(name, array_type(type.element, type.shape))
        for type, name in zip(types, names, strict=True)
    ]
    tensors = [
        whole(type.element, type.shape, node) for type, node in zip(types, variables, strict=True)
    ]
    results = lowering.call(function.body, tensors)
    if not results:
        raise LimitationError(f"the function {function.name} returns nothing", function.location)
    builder = lowering.builder
    body = builder.tuple([unstored(node_of(builder, each)) for each in results])
    with builder.located(function.location):
        root = builder.program([*variables, *lowering.variables], body)
    return Program(
        function.name, finish(root, stores_once=True), tuple(types), tuple(names),
        tuple(TensorType(each.shape, each.element) for each in results),
        tuple(lowering.constants),
    )  # fmt: skip


def _streams(function: GraphFunction) -> dict[GraphOp, int]:
    draws = [op for op in function.body.operations if op.name == "stablehlo.rng"]
    return {op: number for number, op in enumerate(draws)}


class Lowering:
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

    def bound_constant(self, value: np.ndarray[Any, Any], type: TensorType) -> Tensor:
        name = f"constant{len(self.constants)}"
        kind = array_type(type.element, type.shape)
        variable = build.Variable(kind, name, scope=self._outermost)
        self.variables.append(variable)
        self.constants.append(np.ascontiguousarray(value))
        return whole(type.element, type.shape, variable)

    def call(self, region: GraphBlock, arguments: Sequence[Tensor]) -> list[Tensor]:
        for argument, tensor in zip(region.arguments, arguments, strict=True):
            self._values[argument] = tensor
        root_of = roots(region, lambda op: op_name(op) in ELEMENTWISE)
        for op in region.operations[:-1]:
            if root_of.get(op, op) is not op:
                self._waiting[op.results[0]] = op
                continue
            self._lower(op)
        return [self._values[each] for each in region.operations[-1].operands]

    def _lower(self, op: GraphOp) -> None:
        outer, self.builder.location = self.builder.location, op.location
        try:
            found = self._lowered(op)
        except LimitationError as error:
            raise RefusedOp(error, _culprit(error, op)) from None
        except RiseError as error:
            raise error.located(op.location) from None
        finally:
            self.builder.location = outer
        for value, tensor in zip(op.results, found, strict=True):
            self._values[value] = tensor

    def _lowered(self, op: GraphOp) -> list[Tensor]:
        read = replace(_typed(op), stream=self._streams.get(op))
        is_empty = bool(read.results) and all(0 in each.shape for each in read.results)
        if is_empty and read.name != "stablehlo.while":
            return [self._empty(each) for each in read.results]
        if read.name in ELEMENTWISE:
            return [self._cluster(op, read)]
        found = WHOLE[read.name](self, read, [self._values[each] for each in op.operands])
        return found if isinstance(found, list) else [found]

    def _empty(self, type: TensorType) -> Tensor:
        """Return a tensor without elements; the op computes nothing."""
        return zeros(self.builder, type.element, type.shape)

    def _cluster(self, root: GraphOp, read: Op) -> Tensor:
        """Build the map that computes an elementwise op and those that only it needs."""
        members = self._members(root)
        made = {op.results[0] for op in members}
        operands = dict.fromkeys(each for op in members for each in op.operands)
        leaves = [each for each in operands if each not in made]
        tensors = [_spread(self._values[each], read.result.shape) for each in leaves]

        def scalar(nodes: list[Node]) -> Node:
            known = dict(zip(leaves, nodes, strict=True))
            for op in members:
                self.builder.location = op.location
                operands = [known[each] for each in op.operands]
                known[op.results[0]] = self._scalar(op, operands)
            return known[root.results[0]]

        return combined(self.builder, tensors, read.result.shape, read.result.element, scalar)

    def _scalar(self, op: GraphOp, operands: Sequence[Node]) -> Node:
        try:
            named = _typed(op)
            return ELEMENTWISE[named.name](self.builder, named, operands)
        except LimitationError as error:
            raise RefusedOp(error, op) from None

    def _members(self, root: GraphOp) -> list[GraphOp]:
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


def _spread(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Broadcast a scalar operand to the shape of the others."""
    if tensor.rank == 0 and shape:
        return replace(tensor, shape=tuple(shape))
    return tensor


def _typed(op: GraphOp) -> Op:
    name = op_name(op)
    operands = tuple(
        tensor_type(each, f"operand {k + 1} of {name}", op.location)
        for k, each in enumerate(op.operands)
    )
    results = tuple(tensor_type(each, f"the result of {name}", op.location) for each in op.results)
    return Op(name, operands, results, op.attributes, op.regions, op.location, op.label)
