"""Terms as nodes of a program under construction, in a normal form.

Functions are applied where they are called, so the nodes contain no beta-redexes; a let becomes
sharing of a node; components of pairs, unzipped zips and transposed transposes are simplified. What
the result does not use is not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.autodiff.building import Builder, arguments_of
from riselang.autodiff.marks import MARKS
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import RiseType, uncurry
from riselang.support.recursion import with_deep_stack
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    parameter_names,
    spine,
)
from riselang.term.size_substitution import apply_dependent


@dataclass(eq=False)
class _Delayed:
    """A term that is built when it is first used, in the scope where it was bound."""

    term: Term
    environment: _Environment
    scope: build.Scope
    value: _Value | None = None


@dataclass(eq=False)
class _Function:
    term: Term
    environment: _Environment
    arguments: tuple[_Value, ...] = ()


_Value = Node | _Function | _Delayed


@dataclass(eq=False, frozen=True)
class _Binding:
    value: _Value
    outer: _Environment


_Environment = _Binding | None


@with_deep_stack
def instantiate(
    builder: Builder, function: Term, arguments: Sequence[Node], *, keep_marks: bool = False
) -> Node:
    """Return the result of a closed function for arguments, as a node of the current scope.

    Unless marks are kept for another derivative, `stopGradient` and functions with derivatives of
    their own become plain values and functions.
    """
    return _Instantiation(builder, keep_marks).apply_to_nodes(function, arguments)


def normalize_function(function: Term) -> Term:
    """Return a closed function in the normal form that `instantiate` builds."""
    builder = Builder()
    inputs, _ = uncurry(function.type)
    names = parameter_names(function)
    parameters = [
        build.Variable(type, name, scope=builder.scope)
        for type, name in zip(inputs, names, strict=True)
    ]
    body = instantiate(builder, function, parameters)
    normalized = builder.close_function(parameters, body, builder.scope)
    normalized.scope = None
    return finish(normalized)


class _Instantiation:
    def __init__(self, builder: Builder, keep_marks: bool):
        self._builder = builder
        self._keep_marks = keep_marks
        self._applications: list[build.Application] = []
        self._nodes: dict[tuple[Term, int, build.Scope], tuple[_Environment, _Value]] = {}

    def apply_to_nodes(self, function: Term, arguments: Sequence[Node]) -> Node:
        result = self._apply(self._evaluate(function, None), list(arguments))
        assert isinstance(result, Node)
        self._drop_needless_stores(result)
        return result

    def _drop_needless_stores(self, root: Node) -> None:
        """Drop `toMem` from values that have several uses: a let stores them anyway."""
        counts = build.count_uses(root).counts
        stores: dict[Node, Node] = {}
        for node in self._applications:
            stored = arguments_of(node, patterns.TO_MEM)
            if stored is not None and counts.get(stored[0], 0) > 1:
                stores[node] = stored[0]
        for node in self._applications:
            node.arguments = [stores.get(each, each) for each in node.arguments]

    def _evaluate(self, term: Term, environment: _Environment) -> _Value:
        """Return the value of a term: a function, or a node of the current scope."""
        if isinstance(term, Bound):
            for _ in range(term.index):
                assert environment is not None
                environment = environment.outer
            assert environment is not None
            return self._force(environment.value)
        if not term.open:
            environment = None
        key = (term, id(environment), self._builder.scope)
        if key not in self._nodes:
            with self._builder.at_location(term.location):
                self._nodes[key] = environment, self._evaluate_new(term, environment)
        return self._nodes[key][1]

    def _force(self, value: _Value) -> _Value:
        if not isinstance(value, _Delayed):
            return value
        if value.value is None:
            with self._builder.in_scope(value.scope):
                value.value = self._evaluate(value.term, value.environment)
        return value.value

    def _evaluate_new(self, term: Term, environment: _Environment) -> _Value:
        builder = self._builder
        match term:
            case Apply():
                head, terms = spine(term)
                function = self._evaluate(head, environment)
                arguments: list[_Value] = []
                for argument in terms:
                    arguments.append(_Delayed(argument, environment, builder.scope))
                return self._apply(function, arguments)
            case Scalar():
                nodes = self._operands(term.operands, environment)
                return builder.operation(term.op, nodes, term.type, term.predicate)
            case Literal():
                return build.literal_node(term.attribute, builder.scope, builder.location)
            case DepApply():
                function = self._evaluate(term.function, environment)
                assert isinstance(function, _Function)
                assert isinstance(function.term, DepLambda)
                body = apply_dependent(function.term, term.argument)
                return self._evaluate(body, function.environment)
            case Embed():
                nodes = self._operands(term.operands, environment)
                return build.Foreign(
                    term.type, term.region, nodes, scope=builder.scope, location=builder.location
                )
            case Lambda() | Pattern() | DepLambda():
                return _Function(term, environment)
            case _:
                raise TypeError(f"{term!r} is not part of a closed term")

    def _operands(self, terms: Sequence[Term], environment: _Environment) -> list[Node]:
        nodes: list[Node] = []
        for term in terms:
            node = self._evaluate(term, environment)
            assert isinstance(node, Node)
            nodes.append(node)
        return nodes

    def _apply(self, function: _Value, arguments: Sequence[_Value]) -> _Value:
        pending = list(arguments)
        while pending:
            assert isinstance(function, _Function)
            if isinstance(function.term, Lambda):
                environment = _Binding(pending.pop(0), function.environment)
                function = self._evaluate(function.term.body, environment)
                continue
            pattern = function.term
            assert isinstance(pattern, Pattern)
            values = (*function.arguments, pending.pop(0))
            function = (
                self._apply_pattern(pattern, values)
                if len(values) == pattern.spec.arity
                else _Function(pattern, None, values)
            )
        return function

    def _apply_pattern(self, pattern: Pattern, values: Sequence[_Value]) -> _Value:
        if pattern.spec is patterns.LET:
            function = self._force(values[1])
            return self._apply(function, [values[0]])
        if pattern.spec in MARKS and not self._keep_marks:
            last = self._force(values[-1])
            return last if len(values) == 1 else self._apply(self._force(values[0]), [last])
        builder = self._builder
        inputs, _ = uncurry(pattern.type)
        nodes: list[Node] = []
        for value, type in zip(values, inputs, strict=True):
            nodes.append(self._node(value, type))
        simpler = _simplify(builder, pattern, nodes)
        if simpler is not None:
            return simpler
        arguments = dict(zip(pattern.spec.parameters, pattern.arguments, strict=True))
        use = build.PatternUse(
            pattern.type, pattern.spec, arguments, pattern.to,
            scope=builder.scope, location=builder.location,
        )  # fmt: skip
        call = builder.call(use, nodes)
        assert isinstance(call, build.Application)
        self._applications.append(call)
        return call

    def _node(self, value: _Value, type: RiseType) -> Node:
        """Return a value as a node; a function becomes a lambda."""
        forced = self._force(value)
        if isinstance(forced, Node):
            return forced
        assert isinstance(forced, _Function)
        inputs, _ = uncurry(type)
        names: list[str] = []
        term = forced.term
        while isinstance(term, Lambda):
            names.append(term.name)
            term = term.body
        names = [*names, *("x" for _ in inputs)][: len(inputs)]

        def body(*variables: Node) -> Node:
            result = self._apply(forced, variables)
            assert isinstance(result, Node)
            return result

        return self._builder.function(inputs, names, body)


def _simplify(builder: Builder, pattern: Pattern, nodes: Sequence[Node]) -> Node | None:
    """Return a simpler node for an application, or None."""
    spec, last = pattern.spec, nodes[-1]
    if spec in (patterns.FST, patterns.SND):
        parts = arguments_of(last, patterns.TUPLE) or _zipped(last)
        return None if parts is None else parts[0 if spec is patterns.FST else 1]
    if spec is patterns.TUPLE:
        first, second = (
            arguments_of(node, part)
            for node, part in zip(nodes, (patterns.FST, patterns.SND), strict=True)
        )
        is_same = first is not None and second is not None and first[0] is second[0]
        return first[0] if is_same and first is not None else None
    if spec is patterns.TRANSPOSE:
        source = arguments_of(last, patterns.TRANSPOSE)
        return None if source is None else source[0]
    if spec is patterns.MAP:
        return last if _is_identity(nodes[0]) else None
    if spec is patterns.AT:
        function = arguments_of(last, patterns.GENERATE)
        if function is not None and _is_identity(function[0]):
            return nodes[0]
    return None


def _is_identity(function: Node) -> bool:
    return isinstance(function, build.Function) and function.body is function.parameters[0]


def _zipped(node: Node) -> Sequence[Node] | None:
    """Return the arrays of `unzip(zip(a, b))`."""
    source = arguments_of(node, patterns.UNZIP)
    return None if source is None else arguments_of(source[0], patterns.ZIP)
