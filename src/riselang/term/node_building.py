"""Building nodes of known types, for rewrites of programs under construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from riselang.dialects.rise import pattern_registry
from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    RiseType,
    ScalarType,
    TupleType,
    components,
    fun,
    i1,
    idx,
    index,
    uncurry,
)
from riselang.nat import as_nat
from riselang.support.errors import SourceLocation
from riselang.term import build


def _is_pair(node: build.Node) -> TypeGuard[build.Application]:
    if not isinstance(node, build.Application) or not isinstance(node.function, build.PatternUse):
        return False
    return node.function.spec is pattern_registry.TUPLE and len(node.arguments) == 2


class NodeBuilder:
    """Creates nodes in one scope, at one location."""

    def __init__(self, scope: build.Scope | None, location: SourceLocation | None):
        self._scope = scope
        self._location = location

    def constant(self, number: float, type: ScalarType) -> build.Constant:
        return build.Constant(type, number, scope=self._scope, location=self._location)

    def operation(
        self,
        op: str,
        operands: Sequence[build.Node],
        type: ScalarType,
        predicate: str | None = None,
    ) -> build.Node:
        return build.Operation(
            type, op, operands, predicate, scope=self._scope, location=self._location
        )

    def compare(self, relation: str, left: build.Node, right: build.Node) -> build.Node:
        return self.operation("compare", [left, right], i1, relation)

    def convert(self, operand: build.Node, type: ScalarType) -> build.Node:
        return build.Conversion(type, operand, scope=self._scope, location=self._location)

    def apply(
        self, spec: PatternSpec, sizes: Sequence[Argument], *arguments: build.Node
    ) -> build.Node:
        parameters = dict(zip(spec.parameters, sizes, strict=True))
        type = spec.instantiate(parameters)
        use = build.PatternUse(type, spec, parameters, scope=self._scope, location=self._location)
        _, result = uncurry(type)
        return build.Application(
            result, use, list(arguments), scope=self._scope, location=self._location
        )

    def pair(self, first: build.Node, second: build.Node) -> build.Node:
        return self.apply(pattern_registry.TUPLE, [first.type, second.type], first, second)

    def parts(
        self, value: build.Node, type: RiseType | None = None
    ) -> tuple[build.Node, build.Node]:
        """The components of a pair, whose type may be given."""
        if _is_pair(value):
            return value.arguments[0], value.arguments[1]
        type = type or value.type
        assert isinstance(type, TupleType)
        sizes = components(type)
        return (
            self.apply(pattern_registry.FST, sizes, value),
            self.apply(pattern_registry.SND, sizes, value),
        )

    def map(
        self,
        function: Callable[[build.Node, NodeBuilder], build.Node],
        xs: build.Node,
        array_type: RiseType | None = None,
    ) -> build.Node:
        """Map over an array, whose type may be given; the function also takes a builder."""
        type = array_type or xs.type
        assert isinstance(type, ArrayType)
        scope = build.Scope(self._scope)
        variable = build.Variable(type.element, "z", scope=scope, location=self._location)
        body = function(variable, NodeBuilder(scope, self._location))
        made = build.Function(
            fun(type.element, body.type), [variable], body, scope,
            scope=self._scope, location=self._location,
        )  # fmt: skip
        return self.apply(pattern_registry.MAP, [type.length, type.element, body.type], made, xs)

    def eta_expand(self, function: build.Node, type: FunType) -> build.Node:
        """Return `fun(x, function(x))` for a function of this type."""
        scope = build.Scope(self._scope)
        variable = build.Variable(type.input, "x", scope=scope, location=self._location)
        body = build.Application(
            type.output, function, [variable], scope=scope, location=self._location
        )
        return build.Function(
            type, [variable], body, scope, scope=self._scope, location=self._location
        )

    def element(self, xs: build.Node, position: int) -> build.Node:
        type = xs.type
        assert isinstance(type, ArrayType)
        number = build.Constant(index, position, scope=self._scope, location=self._location)
        at = self.apply(pattern_registry.CLAMP_IDX, [type.length, index], number)
        return self.apply(pattern_registry.AT, [type.length, type.element], at, xs)

    def singleton(self, value: build.Node) -> build.Node:
        """An array with one element."""
        scope = build.Scope(self._scope)
        variable = build.Variable(idx(1), "i", scope=scope, location=self._location)
        made = build.Function(
            fun(idx(1), value.type), [variable], value, scope,
            scope=self._scope, location=self._location,
        )  # fmt: skip
        return self.apply(pattern_registry.GENERATE, [as_nat(1), value.type], made)

    def concat(self, xs: build.Node, ys: build.Node) -> build.Node:
        first, second = xs.type, ys.type
        assert isinstance(first, ArrayType)
        assert isinstance(second, ArrayType)
        sizes = [first.length, second.length, first.element]
        return self.apply(pattern_registry.CONCAT, sizes, xs, ys)
