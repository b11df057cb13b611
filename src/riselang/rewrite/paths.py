"""Places in terms: what is at one, what is around it, and what becomes of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.dialects.rise.pattern_registry import LET, TO_MEM, TUPLE, Role
from riselang.rewrite.core import Path
from riselang.term.fusion import MAPS
from riselang.term.nodes import (
    Apply,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Pattern,
    Scalar,
    Term,
    operation_type,
    spine,
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


class Cursor:
    """A place in a term that changes; what is around it is only rebuilt when the place is left."""

    def __init__(self, term: Term):
        self.part = term
        self._path: list[int] = []
        self._around: list[Term] = []

    def move(self, path: Path) -> None:
        """Go to another place; raises IndexError where there is none."""
        common = 0
        for ours, theirs in zip(self._path, path, strict=False):
            if ours != theirs:
                break
            common += 1
        while len(self._path) > common:
            self.part = with_child(self._around.pop(), self._path.pop(), self.part)
        for position in path[common:]:
            child = self.part.children[position]
            self._around.append(self.part)
            self._path.append(position)
            self.part = child

    def whole(self) -> Term:
        """The term around the place, which is the place then."""
        self.move(())
        return self.part


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


Trail = tuple["Trail", int] | None
"""A path that shares what is above with others: that of the parent, and which of its children.

A path is as long as its place is deep, so whoever looks at every place makes none until needed.
"""


def path_of(trail: Trail) -> Path:
    """The path that a trail is."""
    positions: list[int] = []
    while trail is not None:
        trail, position = trail
        positions.append(position)
    return tuple(reversed(positions))


def places(term: Term) -> Iterator[tuple[Trail, Term]]:
    """Every place, what is around before what is inside, and functions before arguments."""
    stack: list[tuple[Trail, Term]] = [(None, term)]
    while stack:
        trail, current = stack.pop()
        yield trail, current
        children = current.children
        stack.extend(((trail, i), children[i]) for i in range(len(children) - 1, -1, -1))


def written_places(term: Term) -> Iterator[Path]:
    """The places of what is written to memory: results, what is stored or named, views of such, and
    what maps to such compute."""
    stack: list[tuple[Path, Term]] = [((), term)]
    while stack:
        path, current = stack.pop()
        yield path
        if isinstance(current, Lambda | DepLambda):
            stack.append(((*path, 0), current.children[0]))
            continue
        if current.head is not None and current.given == current.head.arity:
            head, arguments = spine(current)
            assert isinstance(head, Pattern)
            count = len(arguments)
            for number in _written_arguments(head, count):
                place = (*path, *[0] * (count - 1 - number), 1)
                stack.append((place, arguments[number]))


def _written_arguments(pattern: Pattern, count: int) -> range:
    """Which arguments of a pattern are written where its result is."""
    if pattern.spec.name in MAPS:
        return range(1)
    is_whole = pattern.spec in (LET, TUPLE) or (pattern.spec.role is Role.VIEW and count == 1)
    return range(count if is_whole or pattern.spec is TO_MEM else 0)


def places_inside_out(term: Term) -> Iterator[tuple[Trail, Term]]:
    """Every place, what is inside before what is around it."""
    return reversed(list(places(term)))
