"""Moving terms under and out of binders: shifting, substitution, beta reduction."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from riselang.term.deep_recursion import recursive
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
    operation_type,
)

Visit = Callable[[Term], Term]


def map_children(term: Term, visit: Visit, visit_body: Visit) -> Term:
    """Rebuild `term` with `visit` applied to its children, and `visit_body` to lambda bodies.

    If no child changes, the result is the same object.
    """
    match term:
        case Apply():
            function, argument = visit(term.function), visit(term.argument)
            if function is term.function and argument is term.argument:
                return term
            return Apply(function, argument, term.location)
        case Lambda():
            body = visit_body(term.body)
            if body is term.body:
                return term
            return Lambda(term.name, term.parameter, body, term.location)
        case DepLambda():
            return DepLambda(term.kind, term.name, visit(term.body), term.binder, term.location)
        case DepApply():
            return DepApply(visit(term.function), term.argument, term.location)
        case Scalar():
            operands = [visit(operand) for operand in term.operands]
            if all(map(is_, operands, term.operands)):
                return term
            return Scalar(term.op, operands, operation_type(term), term.predicate, term.location)
        case Embed():
            operands = [visit(operand) for operand in term.operands]
            return Embed(term.region, operands, operation_type(term), term.location)
        case _:
            return term


@recursive
def shift(term: Term, by: int, cutoff: int = 0) -> Term:
    """Move `term` under `by` more lambdas."""
    if by == 0:
        return term

    def go(term: Term, cutoff: int) -> Term:
        if term.open <= cutoff:
            return term
        if isinstance(term, Bound):
            return Bound(term.index + by, term.type, term.location)
        return map_children(term, lambda t: go(t, cutoff), lambda t: go(t, cutoff + 1))

    return go(term, cutoff)


@recursive
def instantiate(body: Term, replacement: Term) -> Term:
    """Replace the variable in the body of a lambda, as beta reduction does."""
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
        return map_children(term, lambda t: go(t, level), lambda t: go(t, level + 1))

    return go(body, 0)


def mentions(term: Term, index: int) -> bool:
    """Whether a term mentions the variable of the `index`-th lambda around it."""
    stack = [(term, index)]
    while stack:
        current, level = stack.pop()
        if current.open <= level:
            continue
        if isinstance(current, Bound):
            if current.index == level:
                return True
            continue
        inner = level + 1 if isinstance(current, Lambda) else level
        stack.extend((child, inner) for child in current.children)
    return False


@recursive
def drop_lambda(term: Term, index: int) -> Term:
    """Move a term out of the `index`-th lambda around it, whose variable it does not mention."""

    def visit(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            assert term.index != level
            return Bound(term.index - (term.index > level), term.type, term.location)
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(term, index)


@recursive
def swap_variables(term: Term) -> Term:
    """Swap the variables of the two innermost lambdas around a term."""

    def visit(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            index = term.index - level
            other = {0: 1, 1: 0}.get(index, index)
            return Bound(other + level, term.type, term.location)
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(term, 0)


@recursive
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

    return go(body, 0)


def is_used_often(body: Term) -> bool:
    """Whether the body of a lambda uses its variable twice, or in a function that may run often.

    The function of a let runs once, and so does a function that takes further parameters.
    """
    return sum(_count_weighted_uses(body)) > 1


def parts_used_often(body: Term) -> tuple[bool, bool]:
    """Whether `is_used_often` holds for each component of a variable that is a pair."""
    whole, first, second = _count_weighted_uses(body)
    return whole + first > 1, whole + second > 1


_Weights = tuple[int, int, int]
"""The uses of a variable, of its first and of its second component; a use in a function counts as
two."""


@recursive
def _count_weighted_uses(body: Term) -> _Weights:
    level = 0
    while isinstance(body, Lambda):
        body = body.body
        level += 1
    count = [0, 0, 0]

    def go(term: Term, level: int, weight: int) -> None:
        if term.open <= level:
            return
        if isinstance(term, Bound):
            count[0] += weight * (term.index == level)
        elif (part := _component_of(term, level)) is not None:
            count[part] += weight
        elif isinstance(term, Lambda):
            go(term.body, level + 1, 2)
        elif isinstance(term, Apply) and _is_partial_let(term.function):
            go(term.function, level, weight)
            if isinstance(term.argument, Lambda):
                go(term.argument.body, level + 1, weight)
            else:
                go(term.argument, level, weight)
        else:
            for child in term.children:
                go(child, level, weight)

    go(body, level, 1)
    return count[0], count[1], count[2]


def _component_of(term: Term, level: int) -> int | None:
    """Which component of the `level`-th lambda's variable the term is, if it is one."""
    if isinstance(term, Apply) and isinstance(term.function, Pattern):
        argument, name = term.argument, term.function.spec.name
        if isinstance(argument, Bound) and argument.index == level:
            return {"fst": 1, "snd": 2}.get(name)
    return None


def _is_partial_let(term: Term) -> bool:
    """Whether the term is `let` applied to its value, but not yet to its body."""
    return (
        isinstance(term, Apply)
        and isinstance(term.function, Pattern)
        and term.function.spec.name == "let"
    )
