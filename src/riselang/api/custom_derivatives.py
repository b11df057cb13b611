"""Derivatives that the user defines: `rl.stop_gradient`, `rl.custom_vjp` and `rl.custom_jvp`."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.argument_types import is_leaf
from riselang.api.differentiated_calls import check_callable
from riselang.api.function_transformation import FunctionTransformation
from riselang.autodiff.accumulations import float_types
from riselang.autodiff.building import Builder, nest_type
from riselang.autodiff.evaluation import float_leaves
from riselang.autodiff.marks import CHECKPOINT, CUSTOM_JVP, CUSTOM_VJP, STOP_GRADIENT
from riselang.dialects.rise.types import RiseType, TupleType, TypeVariable, innermost
from riselang.dialects.rise.types import leaves as scalars_of
from riselang.dsl.symbolic_values import Value, as_node
from riselang.dsl.tracing import current_trace, is_tracing, make_pair
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.structures import Structure, flatten
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.build import Node, Variable


@with_short_tracebacks
def stop_gradient(value: Any) -> Any:
    """Return a value, or a structure of values, that derivatives treat as a constant."""
    if not is_tracing() or not current_trace().is_differentiated:
        return value
    leaves, structure = flatten(value, is_leaf)
    return structure.unflatten([_stopped(leaf) for leaf in leaves])


def _stopped(leaf: Any) -> Value:
    node = as_node(leaf)
    return Value(_builder().apply(STOP_GRADIENT, [_type(node)], node))


class _Custom(FunctionTransformation):
    """A function with a derivative of its own."""

    name: str

    def __init__(self, function: Callable[..., Any]):
        check_callable(self.name, function)
        super().__init__(function, getattr(function, "__name__", "function"))
        self._level = 0
        """The number of calls whose functions are being traced, each in that of the previous."""

    def trace_call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        if self._level >= current_trace().derivative_order:
            return self.function(*arguments, **named)
        arguments = inspect.signature(self.function).bind(*arguments, **named).args
        leaves, structure = flatten(arguments, is_leaf)
        self._level += 1
        try:
            return self._mark(structure, _pack([as_node(leaf) for leaf in leaves]))
        finally:
            self._level -= 1

    @abstractmethod
    def _mark(self, structure: Structure, packed: Node) -> Any:
        """Return the result of a call with these arguments, whose derivative is marked."""

    def _require(self, function: Callable[..., Any] | None, method: str) -> Callable[..., Any]:
        if function is None:
            raise UserError(
                f"{self.name}: {self.function.__name__} has no derivative; define it with "
                f"{self.function.__name__}.{method}",
                user_location(),
            )
        return function


class checkpoint(_Custom):  # noqa: N801
    """A function whose values reverse mode computes again, instead of storing them."""

    name = "checkpoint"

    def _mark(self, structure: Structure, packed: Node) -> Any:
        type, results = _type(packed), _Shape()
        function = _function([type], lambda x: results.pack(self.function(*_unpack(structure, x))))
        node = _builder().apply(CHECKPOINT, [_settle(packed), results.type], function, packed)
        return results.unpack(node)


class custom_vjp(_Custom):  # noqa: N801
    """A function whose derivative in reverse mode is defined by `defvjp`."""

    name = "custom_vjp"

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._forward: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Define the derivative.

        `forward` takes the arguments, and returns the result and values for `backward`, which takes
        these values and the cotangent of the result, and returns a tuple with a cotangent for each
        argument.
        """
        self._forward, self._backward = forward, backward

    def _mark(self, structure: Structure, packed: Node) -> Any:
        forward = self._require(self._forward, "defvjp")
        backward = self._require(self._backward, "defvjp")
        builder, type = _builder(), _type(packed)
        results, residuals = _Shape(), _Shape()

        def call(x: Node) -> Node:
            return results.pack(self.function(*_unpack(structure, x)))

        def call_forward(x: Node) -> Node:
            result, kept = _components(
                forward(*_unpack(structure, x)), forward,
                "custom_vjp: the first function of defvjp must return a pair of the result and "
                "values for the second one",
            )  # fmt: skip
            packed = results.pack_again(result, "custom_vjp: the result", forward)
            return make_pair(current_trace(), packed, residuals.pack((kept, 0)))

        def call_backward(kept: Node, cotangent: Node) -> Node:
            values, _ = residuals.unpack(kept)
            found = backward(values, results.unpack(cotangent))
            return _pack_like(structure, type, found, backward)

        first = _function([type], call)
        second = _function([type], call_forward)
        type = _settle(packed)
        third = _function([residuals.type, results.type], call_backward)
        sizes = [type, results.type, residuals.type]
        node = builder.apply(CUSTOM_VJP, sizes, first, second, third, packed)
        return results.unpack(node)


class custom_jvp(_Custom):  # noqa: N801
    """A function whose derivative, in both modes, is defined by `defjvp`."""

    name = "custom_jvp"

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._tangent: Callable[..., Any] | None = None

    def defjvp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Define the derivative: the function takes the arguments and their tangents, each as a
        tuple, and returns the result and its tangent, which must be linear in the tangents."""
        self._tangent = function
        return function

    def _mark(self, structure: Structure, packed: Node) -> Any:
        tangent = self._require(self._tangent, "defjvp")
        type, results, tangents = _type(packed), _Shape(), _Shape()
        first = _function([type], lambda x: results.pack(self.function(*_unpack(structure, x))))
        type = _settle(packed)
        if not all(float_leaves(type)):
            raise UserError(
                f"custom_jvp: all arguments of {self.function.__name__} must be floats; read "
                "others from an enclosing function",
                user_location(),
            )

        def call_tangent(x: Node, dx: Node) -> Node:
            result, derivative = _components(
                tangent(_unpack(structure, x), _unpack(structure, dx)), tangent,
                "custom_jvp: the function of defjvp must return a pair of the result and its "
                "tangent",
            )  # fmt: skip
            packed = results.pack_again(result, "custom_jvp: the result", tangent)
            _check_tangents(float_types(results.type), derivative, tangent)
            return make_pair(current_trace(), packed, tangents.pack(derivative))

        second = _function([type, type], call_tangent)
        sizes = [type, results.type, type, tangents.type]
        node = _builder().apply(CUSTOM_JVP, sizes, first, second, packed)
        return results.unpack(node)


class _Shape:
    """The structure and the type of values that become one node."""

    def __init__(self) -> None:
        self._structure: Structure | None = None
        self._node: Node | None = None

    @property
    def type(self) -> RiseType:
        assert self._node is not None
        return _settle(self._node)

    def pack(self, values: Any) -> Node:
        leaves, self._structure = flatten(values, is_leaf)
        self._node = _pack([as_node(leaf) for leaf in leaves])
        return self._node

    def pack_again(self, values: Any, name: str, function: Callable[..., Any]) -> Node:
        """Pack values that must have the structure and the type of those before."""
        before, structure = self._node, self._structure
        assert before is not None
        node = self.pack(values)
        if self._structure != structure:
            raise UserError(
                f"{name} of the derivative has another structure than that of the function",
                function_location(function),
            )
        current_trace().unify(before.type, node.type, f"{name} of the derivative")
        return node

    def unpack(self, node: Node) -> Any:
        assert self._structure is not None
        return _unpack(self._structure, node)


def _components(pair: Any, function: Callable[..., Any], message: str) -> tuple[Any, Any]:
    if isinstance(pair, tuple):
        parts: tuple[Any, ...] = pair
        if len(parts) == 2:
            return parts
    raise UserError(message, function_location(function))


def _check_tangents(types: Sequence[RiseType], tangents: Any, function: Callable[..., Any]) -> None:
    """Check that tangents have the types of the floats of a result."""
    nodes = [as_node(leaf) for leaf in flatten(tangents, is_leaf)[0]]
    found: list[RiseType] = []
    for node in nodes:
        type = _type(node)
        is_open = isinstance(type, TypeVariable)
        found += [type] if is_open else [nest_type(*each) for each in scalars_of(type)]
    if len(found) != len(types):
        raise UserError(
            f"custom_jvp: expected a tangent for each of the {len(types)} floats, or arrays of "
            f"floats, of the result, but found {len(found)}",
            function_location(function),
        )
    for type, other in zip(types, found, strict=True):
        current_trace().unify(type, other, "custom_jvp: a tangent")


def _builder() -> Builder:
    builder = Builder()
    builder.scope = current_trace().scope
    builder.location = user_location()
    return builder


def _type(node: Node) -> RiseType:
    return current_trace().inference.resolve(node.type)


def _settle(node: Node) -> RiseType:
    """Return the type of a node; numbers whose types are open are floats."""
    stack = [_type(node)]
    while stack:
        type = stack.pop()
        if isinstance(type, TupleType):
            stack += [type.first, type.second]
        elif isinstance(unknown := innermost(type), TypeVariable):
            current_trace().settle_float(unknown, "a number")
    return _type(node)


def _pack(nodes: Sequence[Node]) -> Node:
    *first, result = nodes
    for node in reversed(first):
        result = make_pair(current_trace(), node, result)
    return result


def _unpack(structure: Structure, node: Node) -> Any:
    value, count = Value(node), structure.leaf_count
    parts: list[Value] = []
    for _ in range(count - 1):
        parts.append(value.fst)
        value = value.snd
    return structure.unflatten([*parts, value])


def _pack_like(
    structure: Structure, type: RiseType, values: Any, function: Callable[..., Any]
) -> Node:
    """Return the cotangents of all arguments; None stands for zeros."""
    types: list[RiseType] = []
    for _ in range(structure.leaf_count - 1):
        assert isinstance(type, TupleType)
        types.append(type.first)
        type = type.second
    types.append(type)
    if not isinstance(values, tuple) or len(values) != len(structure.parts):
        raise UserError(
            "custom_vjp: the second function of defvjp must return a tuple with a cotangent for "
            "each argument",
            function_location(function),
        )
    nodes: list[Node] = []
    for part, value in zip(structure.parts, values, strict=True):
        own = types[len(nodes) : len(nodes) + part.leaf_count]
        if value is None:
            nodes += [_builder().zeros(each) for each in own]
            continue
        leaves, _ = flatten(value, is_leaf)
        if len(leaves) != len(own):
            raise UserError(
                f"custom_vjp: the cotangent of an argument of {format_count(len(own), 'array')} "
                f"consists of {len(leaves)}",
                function_location(function),
            )
        for leaf, each in zip(leaves, own, strict=True):
            node = as_node(leaf)
            current_trace().unify(each, node.type, "custom_vjp: a cotangent")
            nodes.append(node)
    return _pack(nodes)


def _function(types: Sequence[RiseType], body: Callable[..., Node]) -> Node:
    """Trace a function on variables of these types."""
    trace, builder = current_trace(), _builder()
    with trace.inner_scope() as scope:
        variables = [Variable(type, "x", scope=scope) for type in types]
        result = body(*variables)
    result.type = _type(result)
    return builder.close_function(variables, result, scope)
