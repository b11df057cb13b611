"""Terms without lets and applied lambdas, every function a lambda: equal for equal programs.

Terms are evaluated to functions of Python and read back, so each let and each applied lambda is
gone, and what a pattern lacks becomes a lambda around it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeAlias

from riselang.dialects.rise.types import FunType, RiseType
from riselang.term.nodes import (
    Apply,
    Bound,
    Free,
    Lambda,
    Pattern,
    Scalar,
    Term,
    apply_all,
    operation_type,
)
from support.programs import close

Value: TypeAlias = "Term | Callable[[Value], Value]"


_serial = itertools.count()


def normal_form(term: Term) -> Term:
    return close(_read_back(_evaluate(term, ()), term.type))


def _evaluate(term: Term, environment: tuple[Value, ...]) -> Value:
    match term:
        case Bound(index):
            return environment[-1 - index]
        case Lambda():
            body = term.body
            return lambda value: _evaluate(body, (*environment, value))
        case Apply():
            function = _evaluate(term.function, environment)
            return _call(function, _evaluate(term.argument, environment))
        case Scalar(op, operands):
            values = [_read_back(_evaluate(x, environment), x.type) for x in operands]
            return Scalar(op, values, operation_type(term), term.predicate)
        case Pattern(spec) if spec.name == "let":
            return lambda value: lambda function: _call(function, value)
        case _:
            return _as_value(term)


def _call(function: Value, argument: Value) -> Value:
    assert not isinstance(function, Term)
    return function(argument)


def _as_value(term: Term) -> Value:
    """A term that nothing reduces: as a function, it collects its arguments."""
    type = term.type
    if not isinstance(type, FunType):
        return term
    wanted = type.input
    return lambda value: _as_value(apply_all(term, [_read_back(value, wanted)]))


def _read_back(value: Value, type: RiseType) -> Term:
    if not isinstance(type, FunType):
        assert isinstance(value, Term)
        return value
    variable = Free(f"v{next(_serial)}", type.input)
    body = _read_back(_call(value, _as_value(variable)), type.output)
    return Lambda(variable.name, variable.type, body)
