"""Places in terms: what is at one, what is around it, and what becomes of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.rewrite.core import Path
from riselang.term.nodes import (
    Apply,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Scalar,
    Term,
    operation_type,
)


def at_path(term: Term, path: Path) -> Term:
    """The part at a place."""
    for position in path:
        term = term.children[position]
    return term


def written(path: Path) -> str:
    """A place as it is printed."""
    return ".".join(map(str, path)) or "the top"


def replaced(term: Term, path: Path, part: Term) -> Term:
    """The term with another part of the same type at a place."""
    around: list[Term] = []
    for position in path:
        around.append(term)
        term = term.children[position]
    for parent, position in zip(reversed(around), reversed(path), strict=True):
        part = with_child(parent, position, part)
    return part


def with_child(term: Term, position: int, child: Term) -> Term:
    """The term with another child."""
    if term.children[position] is child:
        return term
    return rebuilt(term, [child if i == position else each for i, each in enumerate(term.children)])


def rebuilt(term: Term, children: Sequence[Term]) -> Term:
    """The node with other children of the same types."""
    match term:
        case Apply():
            return Apply(children[0], children[1], term.location)
        case Lambda():
            return Lambda(term.name, term.parameter, children[0], term.location)
        case DepLambda():
            return DepLambda(term.kind, term.name, children[0], term.binder, term.location)
        case DepApply():
            return DepApply(children[0], term.argument, term.location)
        case Scalar():
            return Scalar(term.op, children, operation_type(term), term.predicate, term.location)
        case Embed():
            return Embed(term.region, children, operation_type(term), term.location)
        case _:
            return term


def places(term: Term) -> Iterator[tuple[Path, Term]]:
    """Every place, what is around before what is inside, and functions before arguments."""
    stack: list[tuple[Path, Term]] = [((), term)]
    while stack:
        path, current = stack.pop()
        yield path, current
        children = current.children
        stack.extend(((*path, i), children[i]) for i in range(len(children) - 1, -1, -1))


def places_inside_out(term: Term) -> Iterator[tuple[Path, Term]]:
    """Every place, what is inside before what is around it."""
    return reversed(list(places(term)))
