"""Which terms are views, and the inverses of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import (
    AS_SCALAR,
    AS_VECTOR,
    CONCAT,
    JOIN,
    MAP,
    REVERSE,
    SPLIT,
    TRANSPOSE,
)
from riselang.dialects.rise.pattern_spec import PatternSpec, Role
from riselang.dialects.rise.types import ArrayType, FunType
from riselang.nat import Nat
from riselang.term.nodes import Apply, Bound, Lambda, Literal, Pattern, Term, apply_all, spine

Arguments: TypeAlias = tuple[Argument, ...]


def _keep_order(arguments: Arguments) -> Arguments:
    return arguments


def _swap_first_two(arguments: Arguments) -> Arguments:
    first, second, *remaining = arguments
    return (second, first, *remaining)


INVERSES: Mapping[str, tuple[PatternSpec, Callable[[Arguments], Arguments]]] = {
    "split": (JOIN, _swap_first_two),
    "join": (SPLIT, _swap_first_two),
    "transpose": (TRANSPOSE, _swap_first_two),
    "reverse": (REVERSE, _keep_order),
    "asVector": (AS_SCALAR, _keep_order),
    "asScalar": (AS_VECTOR, _keep_order),
}
"""The views that are permutations of the elements, each with its inverse."""


def is_view(term: Term) -> bool:
    """Whether reading `term` computes nothing: views of variables and literals, also in maps."""
    stack = [term]
    while stack:
        head, arguments = spine(stack.pop())
        if isinstance(head, Pattern) and head.spec.role is Role.VIEW:
            # Nothing is read of an empty array that another one is concatenated with.
            read = filter(_has_elements, arguments) if head.spec is CONCAT else arguments
            stack.extend(list(read) or arguments)
        elif isinstance(head, Pattern) and head.spec is MAP and arguments:
            function, *xs = arguments
            stack += [function.body if isinstance(function, Lambda) else function, *xs]
        elif arguments or not isinstance(head, Bound | Literal):
            return False
    return True


def _has_elements(term: Term) -> bool:
    return isinstance(term.type, ArrayType) and term.type.length != Nat.const(0)


def inverse_view(function: Term) -> Term | None:
    """The inverse of a function that is composed of views, if it permutes the elements."""
    if isinstance(function, Pattern) and function.spec.name in INVERSES:
        spec, arguments = INVERSES[function.spec.name]
        return Pattern(spec, arguments(function.arguments))
    if isinstance(function, Lambda):
        type = function.body.type
        undone = solve_view(function.body, Bound(0, type))
        return None if undone is None else Lambda(function.name, type, undone)
    return None


def solve_view(body: Term, value: Term) -> Term | None:
    """Solve `body = value` for the innermost variable, if `body` is a view of it."""
    while not isinstance(body, Bound):
        equation = invert_step(body, value)
        if equation is None:
            return None
        body, value = equation
    return value if body.index == 0 else None


def invert_step(term: Term, value: Term) -> tuple[Term, Term] | None:
    """The argument of a view, and the value that it has if the term is equal to `value`."""
    if not isinstance(term, Apply):
        return None
    undo = _inverse_step(term.function)
    if undo is None:
        return None
    if isinstance(value, Apply) and _inverse_step(value.function) == undo:
        return term.argument, value.argument
    return term.argument, Apply(undo, value)


def _inverse_step(function: Term) -> Term | None:
    """The inverse of one view, or of one map of views."""
    head, arguments = spine(function)
    if not isinstance(head, Pattern) or head.spec is not MAP or len(arguments) != 1:
        return inverse_view(function) if isinstance(function, Pattern) else None
    undo = inverse_view(arguments[0])
    if undo is None:
        return None
    assert isinstance(undo.type, FunType)
    n = head.argument("n")
    return apply_all(Pattern(MAP, (n, undo.type.input, undo.type.output)), [undo])
