"""A term said once more in Python: its patterns as `rl` functions, its lambdas as Python's.

Python's own names are lets and its calls are beta reductions, so a term with these comes back as
another one with the same meaning; any other term comes back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import riselang as rl
from riselang.dialects.rise.types import FunType, RiseType, i1, uncurry
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import current_trace, trace_function
from riselang.term import build
from riselang.term.conversion import conversion_ops
from riselang.term.finish import finish
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
    spine,
)
from riselang.term.scalar_ops import OVERLOADS, comparison_op, resolve_op
from support.programs import Program

Environment = tuple[Any, ...]
NAMES = ("add", "sub", "mult", "div", "max", "min", "abs", "popcount", "clz")
FUNCTIONS = {**{name: getattr(rl, name) for name in NAMES}, **vars(rl.math)}
"""The scalar functions by their names in Python."""
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def replayed(program: Program) -> Term:
    """The term that Python makes of the program."""
    body, names = program.term, list[str]()
    while isinstance(body, Lambda):
        names.append(body.name)
        body = body.body
    inner = body
    root, trace, _ = trace_function(lambda *inputs: _say(inner, inputs), names, program.input_types)
    return finish(root, trace.inference)


def _say(term: Term, environment: Environment) -> Any:
    match term:
        case Bound(index):
            return environment[-1 - index]
        case Lambda():
            body = term.body
            return lambda x: _say(body, (*environment, x))
        case Apply():
            head, arguments = spine(term)
            values = [_say(argument, environment) for argument in arguments]
            if isinstance(head, Pattern):
                return _pattern(head, values)
            return _call(_say(head, environment), values)
        case Pattern():
            return _pattern(term, [])
        case Literal():
            # A number takes its type from its use; where nothing uses it, only this says which.
            scope = current_trace().scope
            return Value(build.literal_node(term.attribute, scope, None))
        case Scalar():
            return _scalar(term, [_say(operand, environment) for operand in term.operands])
        case _:
            raise TypeError(f"{term!r} is not expected here")


def _call(function: Any, arguments: Sequence[Any]) -> Any:
    """A curried function on arguments; what is left of a pattern takes some at a time as well."""
    for argument in arguments:
        function = function(argument)
    return function


def _argument(value: Any, wanted: RiseType) -> Any:
    """Where a pattern wants a curried function, Python gives it one of all the parameters."""
    if not isinstance(wanted, FunType):
        return value
    return value if len(uncurry(wanted)[0]) == 1 else lambda x, y: _call(value, [x, y])


def _pattern(pattern: Pattern, arguments: list[Any]) -> Any:
    spec = pattern.spec
    if spec.name == "let":
        return _let(arguments)
    if spec.name == "generate":
        return _generate(pattern, arguments)
    inputs, _ = uncurry(spec.type)
    arguments = [_argument(x, wanted) for x, wanted in zip(arguments, inputs, strict=False)]
    function = getattr(rl, spec.python_name)
    sizes = [pattern.argument(name) for name in spec.explicit]
    if pattern.to is not None:
        return function(*sizes, *arguments, to=pattern.to)
    return function(*sizes, *arguments) if sizes or arguments else function


def _generate(pattern: Pattern, arguments: list[Any]) -> Any:
    """Its length follows from how it is used; where nothing uses it, only this says which."""
    if not arguments:
        return lambda function: _generate(pattern, [function])
    result = rl.generate(*arguments, to=pattern.to)
    current_trace().unify(uncurry(pattern.type)[1], result.node.type, "generate")
    return result


def _let(arguments: list[Any]) -> Any:
    if len(arguments) < 2:
        return lambda x: _let([*arguments, x])
    value, function, *rest = arguments
    return _call(function, [value, *rest])


def _scalar(term: Scalar, operands: list[Any]) -> Any:
    """By the function that people write, where there is one for this operation."""
    type, source = scalar_type(term), scalar_type(term.operands[-1])
    for name, function in FUNCTIONS.items():
        if name in OVERLOADS and resolve_op(name, type) == term.op and type != i1:
            return function(*operands)
    if term.op == "arith.select":
        return rl.where(*operands)
    for name, operator in OPERATORS.items():
        if (term.op, term.predicate) == comparison_op(name, source):
            return operator(*operands)
    if len(operands) == 1 and type != i1 and conversion_ops(source, type) == [(term.op, type)]:
        return rl.cast(operands[0], type)
    return _operation(term, operands)


def _operation(term: Scalar, operands: list[Any]) -> Value:
    nodes = [operand.node for operand in operands]
    scope = current_trace().scope
    return Value(build.Operation(term.type, term.op, nodes, term.predicate, scope=scope))
