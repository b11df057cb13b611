"""Replacing the locations of the parts of a program."""

from __future__ import annotations

from collections.abc import Callable

from riselang.support.errors import SourceLocation
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    operation_type,
)


@recursive
def relocate(term: Term, locate: Callable[[Term], SourceLocation | None]) -> Term:
    """Return the program with the locations that `locate` gives its parts, called top-down."""

    def visit(part: Term) -> Term:
        location = locate(part)
        children: list[Term] = []
        for child in part.children:
            children.append(visit(child))
        return _relocate_node(part, children, location)

    return visit(term)


def _relocate_node(term: Term, children: list[Term], location: SourceLocation | None) -> Term:
    """Return a node with new children, equal to its own, and a new location."""
    match term:
        case Bound(index):
            return Bound(index, term.type, location)
        case Free(name):
            return Free(name, term.type, location)
        case Literal(attribute):
            return Literal(attribute, location)
        case Pattern(spec):
            return Pattern(spec, term.arguments, term.to, location)
        case Lambda(name, parameter):
            return Lambda(name, parameter, children[0], location)
        case Apply():
            return Apply(children[0], children[1], location)
        case DepLambda(kind, name):
            return DepLambda(kind, name, children[0], term.binder, location)
        case DepApply(_, argument):
            return DepApply(children[0], argument, location)
        case Scalar(op):
            return Scalar(op, children, operation_type(term), term.predicate, location)
        case Embed(region):
            return Embed(region, children, operation_type(term), location)
        case _:
            raise TypeError("not a term")
