"""One call of a function that is differentiated while a program is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.argument_types import is_leaf
from riselang.autodiff.building import Builder
from riselang.autodiff.differentiation import forward_term, gradient_term, reverse_term
from riselang.autodiff.evaluation import float_leaves
from riselang.autodiff.instantiation import instantiate
from riselang.autodiff.leaf_arrays import join_leaves, split_leaves
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TypeVariable,
    fun,
    innermost,
    is_float,
    leaves,
)
from riselang.dsl.symbolic_values import Value, as_node
from riselang.dsl.tracing import current_trace, guard_with_checks, make_pair, type_text, value_text
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.structures import Structure, flatten
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish_open
from riselang.term.nodes import Term


def check_callable(name: str, function: Any) -> None:
    if not callable(function):
        found = value_text(function)
        raise UserError(f"{name}: expected a function, but found {found}", user_location())


def check_argnums(name: str, argnums: Any) -> None:
    """Raise an error for anything but the position of an argument, or several positions."""
    positions = [argnums] if isinstance(argnums, int) else argnums
    is_sequence = isinstance(positions, Sequence) and not isinstance(positions, str)
    if is_sequence and positions and all(type(each) is int for each in positions):
        return
    raise UserError(
        f"{name}: argnums: expected the position of an argument, as in 0, or several, as in "
        f"(0, 2), but found {argnums!r}",
        user_location(),
    )


class DifferentiatedCall:
    """A function, traced on variables for the arguments that it is differentiated by."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        named: Mapping[str, Any],
        argnums: int | Sequence[int],
    ):
        self._name = name
        self._function = function
        self._trace = current_trace()
        self._is_single = isinstance(argnums, int)
        positions = self._positions(arguments, argnums)
        chosen = tuple(arguments[position] for position in positions)
        leaves, self._structure = flatten(chosen, is_leaf)
        self._inputs = [as_node(leaf) for leaf in leaves]
        self._aux: Any = None
        self._result_structure: Structure | None = None
        self._result_types: list[RiseType] = []
        self._outer: list[Node] = []
        self._arguments = (arguments, named, positions)
        for node in self._inputs:
            self._check_input(node)

    def _positions(self, arguments: Sequence[Any], argnums: int | Sequence[int]) -> list[int]:
        given = [argnums] if isinstance(argnums, int) else list(argnums)
        count = len(arguments)
        for position in given:
            if not -count <= position < count:
                raise UserError(
                    f"{self._name}: argnums has {position}, but {self._function_name} is called "
                    f"with {format_count(count, 'positional argument')}",
                    user_location(),
                )
        return [position % count for position in given]

    @property
    def _function_name(self) -> str:
        return getattr(self._function, "__name__", "the function")

    def _settle(self, node: Node) -> None:
        """Choose a type for an argument if the function does not determine it; it is a float."""
        if isinstance(unknown := innermost(self._type(node)), TypeVariable):
            self._trace.settle_float(unknown, self._name)
        self._check_input(node)

    def _check_input(self, node: Node) -> None:
        """Reject an argument that is not a float; Python numbers are checked later."""
        type = self._type(node)
        if isinstance(innermost(type), TypeVariable) or all(float_leaves(type)):
            return
        is_complex = any(leaf.is_complex for _, leaf in leaves(type))
        advice = "take its real and imaginary part as arguments" if is_complex else (
            "convert it with x.astype(rl.f32)"
        )  # fmt: skip
        raise UserError(
            f"{self._name}: an argument of {self._function_name} has the type {type_text(type)}, "
            f"but derivatives exist only with respect to floats; {advice}, or leave it out of "
            "argnums",
            user_location(),
        )

    def _type(self, node: Node) -> RiseType:
        return self._trace.inference.resolve(node.type)

    # Tracing

    def _traced(self, *, has_aux: bool = False) -> Term:
        """Return the function as a closed term of values of enclosing scopes, and its arguments."""
        trace = self._trace
        with trace.inner_scope() as scope, trace.differentiate():
            variables = [
                build.Variable(self._type(node), "x", scope=scope) for node in self._inputs
            ]
            arguments, named, positions = self._arguments
            values = list(arguments)
            chosen = self._structure.unflatten([Value(each) for each in variables])
            for position, value in zip(positions, chosen, strict=True):
                values[position] = value
            result = self._function(*values, **named)
            body = self._result_node(result, has_aux, scope)
        for node in self._inputs:
            self._settle(node)
        location = function_location(self._function)
        root = build.Function(
            fun(*(each.type for each in variables), body.type), variables, body, scope,
            scope=trace.scope, location=location,
        )  # fmt: skip
        trace.resolve_numbers(root)
        term, self._outer = finish_open(root, trace.inference)
        self._result_types = [trace.inference.resolve(type) for type in self._result_types]
        return term

    def _result_node(self, result: Any, has_aux: bool, scope: build.Scope) -> Node:
        """Return the results, followed by the auxiliary ones, as a tuple."""
        aux: Any = ()
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise UserError(
                    f"{self._name}: with has_aux, {self._function_name} must return a pair of a "
                    "value and auxiliary results",
                    function_location(self._function),
                )
            result, aux = result
        results, self._result_structure = flatten(result, is_leaf)
        extra, self._aux = flatten(aux, is_leaf)
        if not results:
            raise UserError(
                f"{self._function_name} returns nothing; return the value it computes",
                function_location(self._function),
            )
        nodes = [as_node(each) for each in results]
        nodes[0] = guard_with_checks(self._trace, scope, nodes[0])
        self._result_types = [self._type(node) for node in nodes]
        nodes += [as_node(each) for each in extra]
        body = nodes[-1]
        for node in reversed(nodes[:-1]):
            body = make_pair(self._trace, node, body)
        return body

    def _instantiate(self, term: Term, others: Sequence[Node]) -> Node:
        arguments = [*self._outer, *self._inputs, *others]
        is_nested = self._trace.is_differentiated
        return instantiate(self._builder, term, arguments, keep_marks=is_nested)

    @property
    def _builder(self) -> Builder:
        builder = Builder()
        builder.scope = self._trace.scope
        builder.location = user_location()
        return builder

    def _activity(self) -> list[bool]:
        return [False] * len(self._outer) + [True] * len(self._inputs)

    # Derivatives

    def result(self) -> Any:
        """Return the result of the function."""
        arguments, named, _ = self._arguments
        return self._function(*arguments, **named)

    def gradient(self, *, has_aux: bool) -> tuple[Any, Any, Any]:
        """Return the result, the gradient, and the auxiliary results."""
        term = self._traced(has_aux=has_aux)
        assert self._result_structure is not None
        type = self._result_types[0]
        is_number = self._result_structure.is_leaf and is_float(type)
        if not is_number:
            found = type_text(type) if self._result_structure.is_leaf else "several results"
            raise UserError(
                f"{self._name}: {self._function_name} returns {found}, but a gradient needs a "
                "result that is one float; sum the result, or use rl.vjp or rl.jacobian",
                function_location(self._function),
            )
        extra = self._aux.leaf_count if has_aux else 0
        builder = self._builder
        node = self._instantiate(gradient_term(term, self._activity()), [])
        result, *cotangents = builder.unpack(node, 1 + self._cotangent_count())
        value, *others = builder.unpack(result, 1 + extra)
        aux = self._aux.unflatten([Value(each) for each in others]) if has_aux else None
        return Value(value), self._unflatten(cotangents), aux

    def _cotangent_count(self) -> int:
        return sum(len(float_leaves(self._type(node))) for node in self._inputs)

    def pull_back(self, cotangent: Any) -> Any:
        """Return the cotangents of the arguments, given that of the result."""
        term = self._traced()
        assert self._result_structure is not None
        seeds = self._matching_leaves(cotangent, self._result_structure, self._result_types)
        node = self._instantiate(reverse_term(term, self._activity()), seeds)
        _, *cotangents = self._builder.unpack(node, 1 + self._cotangent_count())
        return self._unflatten(cotangents)

    def push_forward(self, tangents: Any) -> tuple[Any, Any]:
        """Return the result and its tangent, given those of the arguments."""
        # The tangents may have open types, which tracing the function would decide.
        inputs = [node.type for node in self._inputs]
        nodes = self._matching_nodes(tangents, self._structure, inputs)
        term = self._traced()
        given = self._float_parts(nodes, [self._type(node) for node in self._inputs])
        node = self._instantiate(forward_term(term, self._activity()), given)
        assert self._result_structure is not None
        builder = self._builder
        floats = sum(sum(float_leaves(type)) for type in self._result_types)
        result, *parts = builder.unpack(node, 1 + floats)
        values = builder.unpack(result, len(self._result_types))
        results = self._result_structure.unflatten([Value(each) for each in values])
        derivatives = self._join(self._result_types, parts)
        return results, self._result_structure.unflatten(derivatives)

    def _matching_leaves(
        self, values: Any, structure: Structure, types: Sequence[RiseType]
    ) -> list[Node]:
        """Return the arrays of a tangent or cotangent, which must match a value."""
        return self._float_parts(self._matching_nodes(values, structure, types), types)

    def _matching_nodes(
        self, values: Any, structure: Structure, types: Sequence[RiseType]
    ) -> list[Node]:
        """Return a node for each leaf of a tangent or cotangent, which must match a value."""
        leaves, found = flatten(values, is_leaf)
        if found != structure:
            raise UserError(
                f"{self._name}: the derivative of {self._function_name} has another structure than "
                "the values; pass one array for each of theirs",
                user_location(),
            )
        nodes: list[Node] = []
        for leaf, type in zip(leaves, types, strict=True):
            node = as_node(leaf, type if isinstance(type, ScalarType) else None)
            self._trace.unify(type, node.type, f"{self._name}: a derivative")
            nodes.append(node)
        return nodes

    def _float_parts(self, nodes: Sequence[Node], types: Sequence[RiseType]) -> list[Node]:
        """Return the arrays of floats in nodes of these types."""
        parts: list[Node] = []
        for node, type in zip(nodes, types, strict=True):
            if any(float_leaves(type)):
                parts += split_leaves(self._builder, _with_type(self._builder, node, type))
        return parts

    def _unflatten(self, cotangents: Sequence[Node]) -> Any:
        types = [self._type(node) for node in self._inputs]
        values = self._structure.unflatten(self._join(types, cotangents))
        return values[0] if self._is_single else values

    def _join(self, types: Sequence[RiseType], parts: Sequence[Node]) -> list[Any]:
        """Return values of these types from arrays for their floats; None for other types."""
        given = iter(parts)
        values: list[Any] = []
        for type in types:
            own = [next(given) for has_float in float_leaves(type) if has_float]
            values.append(
                Value(join_leaves(self._builder, type, own)) if all(float_leaves(type)) else None
            )
        return values


def _with_type(builder: Builder, node: Node, type: RiseType) -> Node:
    """Return a node whose type is known."""
    if node.type == type:
        return node
    node.type = type
    return node
