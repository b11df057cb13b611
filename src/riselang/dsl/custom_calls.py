"""Calls of functions with a known derivative: derivatives do not look inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.autodiff.building import Builder
from riselang.autodiff.marks import CUSTOM_JVP
from riselang.dialects.rise.types import RiseType
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import current_trace, make_pair
from riselang.dsl.user_locations import user_location
from riselang.term.build import Node, Variable

Function = Callable[[Value], Value]
Tangent = Callable[[Value, Value], tuple[Value, Value]]


class DifferentiableFunction:
    """A function of one array or tuple, with a function that returns its result and its tangent.

    The second function may call the first one, so that it has derivatives of higher order.
    """

    def __init__(self, function: Function, tangent: Tangent):
        self._function, self._tangent = function, tangent
        self._level = 0
        """The number of calls whose functions are being traced, each in that of the previous."""

    def __call__(self, x: Value) -> Value:
        trace = current_trace()
        if self._level >= trace.derivative_order:
            return self._function(x)
        self._level += 1
        try:
            return self._mark(x)
        finally:
            self._level -= 1

    def _mark(self, x: Value) -> Value:
        trace = current_trace()
        builder = Builder()
        builder.scope, builder.location = trace.scope, user_location()
        results: list[RiseType] = []

        def call_tangent(x: Value, dx: Value) -> Node:
            result, derivative = self._tangent(x, dx)
            results.append(trace.inference.resolve(derivative.node.type))
            return make_pair(trace, result.node, derivative.node)

        first = _traced(builder, lambda x: self._function(x).node, [x.type])
        second = _traced(builder, call_tangent, [x.type, x.type])
        sizes = [x.type, first.body.type, x.type, results[0]]
        return Value(builder.apply(CUSTOM_JVP, sizes, first, second, x.node))


def _traced(builder: Builder, function: Callable[..., Node], types: list[RiseType]) -> Any:
    trace = current_trace()
    with trace.inner_scope() as scope:
        variables = [
            Variable(type, name, scope=scope)
            for type, name in zip(types, ("x", "dx"), strict=False)
        ]
        result = function(*map(Value, variables))
    result.type = trace.inference.resolve(result.type)
    return builder.close_function(variables, result, scope)
