"""Calls of linear functions, whose transposes are known: derivatives do not look inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.autodiff.building import Builder
from riselang.autodiff.marks import LINEAR
from riselang.dialects.rise.types import RiseType
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import current_trace
from riselang.dsl.user_locations import user_location
from riselang.term.build import Node, Variable

Function = Callable[[Any], Any]


def apply_linear(function: Function, transpose: Function, x: Value) -> Value:
    """Apply a linear function of one array, whose elements are floats or complex numbers.

    The transpose maps the cotangent of the result to that of the argument. The cotangent of a
    complex number has those of its parts, so that of a product `a * z` is `conj(a) * cotangent`.
    """
    trace = current_trace()
    if not trace.is_differentiated:
        return function(x)
    builder = Builder()
    builder.scope, builder.location = trace.scope, user_location()
    first = _traced(builder, function, x.type)
    result = Value(first.body).type
    second = _traced(builder, transpose, result)
    return Value(builder.apply(LINEAR, [x.type, result], first, second, x.node))


def _traced(builder: Builder, function: Function, type: RiseType) -> Any:
    trace = current_trace()
    with trace.inner_scope() as scope:
        variable = Variable(type, "x", scope=scope)
        result: Node = function(Value(variable)).node
    result.type = trace.inference.resolve(result.type)
    return builder.close_function([variable], result, scope)
