"""Eta expansion: functions that are arguments of patterns become lambdas.

Rules match the functions of patterns, and expect them in one form: `map(fun(x, f(x)))` rather than
`map(f)`.
"""

from __future__ import annotations

from riselang.dialects.rise.types import FunType, uncurry
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, apply_all, spine
from riselang.term.substitution import drop_lambda, map_children, mentions, shift

NAMES = ("x", "y", "z")


def eta_expand(function: Term, arity: int | None = None) -> Term:
    """Eta-expand a function of data: return one lambda for each of its parameters."""
    parameters, _ = uncurry(function.type)
    count = len(parameters) if arity is None else arity
    lambda_count = 0
    body = function
    while isinstance(body, Lambda) and lambda_count < count:
        body = body.body
        lambda_count += 1
    missing_parameters = parameters[lambda_count:count]
    if not missing_parameters:
        return function
    arguments = [
        Bound(len(missing_parameters) - 1 - i, type) for i, type in enumerate(missing_parameters)
    ]
    body = apply_all(shift(body, len(missing_parameters)), arguments)
    for position, type in reversed(list(enumerate(missing_parameters))):
        body = Lambda(NAMES[min(position, 2)], type, body)
    for layer in reversed(_lambdas(function, lambda_count)):
        body = Lambda(layer.name, layer.parameter, body, layer.location)
    return body


def _lambdas(function: Term, count: int) -> list[Lambda]:
    lambdas: list[Lambda] = []
    for _ in range(count):
        assert isinstance(function, Lambda)
        lambdas.append(function)
        function = function.body
    return lambdas


@recursive
def eta_expand_arguments(term: Term) -> Term:
    """Eta-expand every function that is an argument of a pattern."""
    return _expand(term)


def _expand(term: Term) -> Term:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments:
        return map_children(term, _expand, _expand)
    results: list[Term] = []
    for argument in arguments:
        result = _expand(argument)
        is_function = isinstance(argument.type, FunType)
        results.append(eta_expand(result) if is_function else result)
    application = apply_all(head, results)
    application.location = term.location
    return application


def eta_reduce(term: Term) -> Term:
    """Replace `fun(x, f(x))` with `f` if `x` is not free in `f`."""
    while isinstance(term, Lambda) and isinstance(term.body, Apply):
        function, argument = term.body.function, term.body.argument
        if not isinstance(argument, Bound) or argument.index != 0 or mentions(function, 0):
            break
        term = drop_lambda(function, 0)
    return term
