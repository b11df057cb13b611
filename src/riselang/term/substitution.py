"""Moving terms under and out of binders: shift, instantiate, beta."""

from __future__ import annotations

from collections.abc import Callable

from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Pattern,
    Scalar,
    Term,
    scalar_type,
)
from riselang.term.recursion import recursive

Visit = Callable[[Term], Term]


def with_children(term: Term, visit: Visit, visit_body: Visit) -> Term:
    """`term` with `visit` applied to its children, and `visit_body` to the body of a lambda."""
    match term:
        case Apply():
            return Apply(visit(term.function), visit(term.argument), term.location)
        case Lambda():
            return Lambda(term.name, term.parameter, visit_body(term.body), term.location)
        case DepLambda():
            return DepLambda(term.kind, term.name, visit(term.body), term.binder, term.location)
        case DepApply():
            return DepApply(visit(term.function), term.argument, term.location)
        case Scalar():
            operands = [visit(operand) for operand in term.operands]
            return Scalar(term.op, operands, scalar_type(term), term.predicate, term.location)
        case Embed():
            operands = [visit(operand) for operand in term.operands]
            return Embed(term.region, operands, scalar_type(term), term.location)
        case _:
            return term


@recursive
def shift(term: Term, by: int, cutoff: int = 0) -> Term:
    """`term` moved under `by` more lambdas."""
    if by == 0:
        return term

    def go(term: Term, cutoff: int) -> Term:
        if term.open <= cutoff:
            return term
        if isinstance(term, Bound):
            return Bound(term.index + by, term.type, term.location)
        return with_children(term, lambda t: go(t, cutoff), lambda t: go(t, cutoff + 1))

    return go(term, cutoff)


@recursive
def instantiate(body: Term, replacement: Term) -> Term:
    """The body of a lambda with its variable replaced, as beta reduction does."""
    shifted: dict[int, Term] = {}

    def go(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            if term.index > level:
                return Bound(term.index - 1, term.type, term.location)
            if level not in shifted:
                shifted[level] = shift(replacement, level)
            return shifted[level]
        return with_children(term, lambda t: go(t, level), lambda t: go(t, level + 1))

    return go(body, 0)


def count_uses(body: Term) -> int:
    """How often the body of a lambda mentions its variable."""

    def go(term: Term, level: int) -> int:
        if term.open <= level:
            return 0
        if isinstance(term, Bound):
            return int(term.index == level)
        inner = level + 1 if isinstance(term, Lambda) else level
        total = 0
        for child in term.children:
            total += go(child, inner)
        return total

    with_stack = recursive(lambda term: go(term, 0))
    return with_stack(body)


def is_used_often(body: Term) -> bool:
    """Whether the body of a lambda reads its variable twice, or in a function, which may run often.

    The function of a let runs once, and so does that of further parameters.
    """

    def go(term: Term, level: int, weight: int) -> int:
        if term.open <= level:
            return 0
        if isinstance(term, Bound):
            return weight * (term.index == level)
        if isinstance(term, Apply) and _is_let_of(term.function):
            assert isinstance(term.function, Apply)
            total = go(term.function.argument, level, weight)
            if isinstance(term.argument, Lambda):
                return total + go(term.argument.body, level + 1, weight)
            return total + go(term.argument, level, weight)
        if isinstance(term, Lambda):
            return go(term.body, level + 1, 2)
        total = 0
        for child in term.children:
            total += go(child, level, weight)
        return total

    outside = 0
    while isinstance(body, Lambda):
        body = body.body
        outside += 1
    with_stack = recursive(lambda term: go(term, outside, 1))
    return with_stack(body) > 1


def _is_let_of(term: Term) -> bool:
    """Whether the term is a let with its value, that waits for its body."""
    return (
        isinstance(term, Apply)
        and isinstance(term.function, Pattern)
        and term.function.spec.name == "let"
    )
