"""Paths in terms: the subterm at a path, and replacing it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from riselang.dialects.rise.pattern_registry import LET, TO_MEM, TUPLE
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import FunType, uncurry
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


def subterm_at(term: Term, path: Path) -> Term:
    """Return the subterm at a path."""
    for position in path:
        term = term.children[position]
    return term


def format_path(path: Path) -> str:
    """Format a path."""
    return ".".join(map(str, path)) or "the top"


def replace_at(term: Term, path: Path, part: Term) -> Term:
    """Replace the subterm at a path with one of the same type."""
    parents: list[Term] = []
    for position in path:
        parents.append(term)
        term = term.children[position]
    for parent, position in zip(reversed(parents), reversed(path), strict=True):
        part = with_child(parent, position, part)
    return part


class Cursor:
    """A position in a term that is edited; outer terms are rebuilt only when it moves away."""

    def __init__(self, term: Term):
        self.subterm = term
        self._path: list[int] = []
        self._parents: list[Term] = []

    def move(self, path: Path) -> None:
        """Move to a path; raises IndexError if the term has no subterm at this path."""
        common = 0
        for current, target in zip(self._path, path, strict=False):
            if current != target:
                break
            common += 1
        while len(self._path) > common:
            self.subterm = with_child(self._parents.pop(), self._path.pop(), self.subterm)
        for position in path[common:]:
            child = self.subterm.children[position]
            self._parents.append(self.subterm)
            self._path.append(position)
            self.subterm = child

    def root(self) -> Term:
        """Move to the root, and return the complete term."""
        self.move(())
        return self.subterm


def with_child(term: Term, position: int, child: Term) -> Term:
    """Replace one child of a term."""
    if term.children[position] is child:
        return term
    return rebuild(term, [child if i == position else each for i, each in enumerate(term.children)])


def rebuild(term: Term, children: Sequence[Term]) -> Term:
    """Return the same node with new children of the same types."""
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
"""A path that shares its prefix with other paths: the trail of the parent, and a child index.

A path is as long as its subterm is deep, so a traversal builds paths only when they are needed.
"""


def path_of_trail(trail: Trail) -> Path:
    """Convert a trail to a path."""
    positions: list[int] = []
    while trail is not None:
        trail, position = trail
        positions.append(position)
    return tuple(reversed(positions))


def subterms_outside_in(term: Term) -> Iterator[tuple[Trail, Term]]:
    """Yield every subterm, outer before inner ones, and functions before arguments."""
    stack: list[tuple[Trail, Term]] = [(None, term)]
    while stack:
        trail, current = stack.pop()
        yield trail, current
        children = current.children
        stack.extend(((trail, i), children[i]) for i in range(len(children) - 1, -1, -1))


WRITTEN_IN_PARTS = (LET.name, TUPLE.name, "concat", "zip")
"""Patterns all of whose arguments are written to memory if their result is."""


def written_paths(term: Term, loops: Collection[str] = ()) -> Iterator[Path]:
    """Yield the paths of terms that are written to memory: results, stored or named terms, the
    arrays that these are views of, and the elements of maps that compute these.

    `loops` are patterns whose functions are followed too: the state of a loop is written in each
    iteration."""
    stack: list[tuple[Path, Term]] = [((), term)]
    while stack:
        path, current = stack.pop()
        yield path
        if isinstance(current, Lambda | DepLambda):
            stack.append(((*path, 0), current.children[0]))
            continue
        if current.head is not None and current.argument_count == current.head.arity:
            head, arguments = spine(current)
            assert isinstance(head, Pattern)
            count = len(arguments)
            for number in _arguments_written_to(head, count, loops):
                argument_path = (*path, *[0] * (count - 1 - number), 1)
                stack.append((argument_path, arguments[number]))


def _arguments_written_to(pattern: Pattern, count: int, loops: Collection[str]) -> Sequence[int]:
    """The positions of the arguments that are written to the memory of the result."""
    if pattern.spec.name in MAPS:
        return [0]
    if pattern.spec.name in loops:
        functions = [isinstance(each, FunType) for each in uncurry(pattern.spec.type)[0]]
        return [position for position, is_function in enumerate(functions) if is_function]
    writes_all = pattern.spec.name in WRITTEN_IN_PARTS or (
        pattern.spec.role is Role.VIEW and count == 1
    )
    return range(count if writes_all or pattern.spec is TO_MEM else 0)


def subterms_inside_out(term: Term) -> Iterator[tuple[Trail, Term]]:
    """Yield every subterm, inner before outer ones."""
    return reversed(list(subterms_outside_in(term)))
