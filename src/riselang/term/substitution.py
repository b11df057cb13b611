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
