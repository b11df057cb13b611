"""Decomposition of terms: arguments of patterns, and abstraction over subterms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from riselang.dialects.rise.pattern_registry import MAP, PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import FunType
from riselang.rewrite.eta import drop_lambda, mentions
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    ARITHMETIC,
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Term,
    pattern_bits,
    spine,
)
from riselang.term.substitution import map_children, shift


def pattern_arguments(term: Term, *names: str) -> list[Term] | None:
    """Return the arguments of a term that fully applies one of these patterns, else None."""
    head = term.head
    if head is None or head.name not in names or term.argument_count != head.arity:
        return None
    return spine(term)[1]


def view_source(term: Term) -> Term | None:
    """Return the term that a view presents: `x` of `x |> transpose` or `x |> map(join)`."""
    head = term.head
    if head is None or term.argument_count != head.arity:
        return None
    if head.role is Role.VIEW and term.argument_count == 1:
        assert isinstance(term, Apply)
        return term.argument
    if head is MAP:
        function, xs = spine(term)[1]
        inner: Term | None = function.body if isinstance(function, Lambda) else None
        while inner is not None and not isinstance(inner, Bound):
            inner = view_source(inner)
        if isinstance(inner, Bound) and inner.index == 0:
            return xs
    return None


def is_free_to_read(term: Term, stored: Sequence[str] = ()) -> bool:
    """Whether reading a term computes nothing: views and pairs of variables, and maps to these.

    `stored` are patterns whose results are in memory, such as `toMem`.
    """
    stack = [term]
    while stack:
        head, arguments = spine(stack.pop())
        if isinstance(head, Bound | Literal) and not arguments:
            continue
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            return False
        if head.spec.name in stored:
            continue
        if head.spec is MAP and isinstance(arguments[0], Lambda):
            stack += [arguments[0].body, arguments[1]]
        elif head.spec.role is Role.VIEW and not any(_is_function(each) for each in arguments):
            stack += arguments
        else:
            return False
    return True


FREE_PATTERNS = ("map", "generate", "let", "vectorFromScalar", "clampIdx", "fromIdx", "sizeOf")
"""Patterns that are not views, but that cost nothing when they are read."""


def has_cost(term: Term) -> bool:
    """Whether a term has arithmetic, or a pattern that needs a loop or memory."""
    return _have_cost(term.patterns)


@lru_cache(maxsize=1 << 12)
def _have_cost(bits: int) -> bool:
    """Whether one of these patterns costs something, or there is arithmetic."""
    names = [spec.name for spec in PATTERNS.values() if spec.role is not Role.VIEW]
    return bool(
        bits & (ARITHMETIC | pattern_bits(*(name for name in names if name not in FREE_PATTERNS)))
    )


def _is_function(term: Term) -> bool:
    return isinstance(term.type, FunType)


def move_outside(term: Term, count: int) -> Term | None:
    """Move a term out of the `count` innermost lambdas; None if it uses one of their variables."""
    for index in range(count - 1, -1, -1):
        if mentions(term, index):
            return None
        term = drop_lambda(term, index)
    return term


@recursive
def abstract_over(term: Term, part: Term) -> Term:
    """Abstract over a subterm: return the body of a function whose parameter replaces it."""

    def visit(term: Term, level: int) -> Term:
        if term.type == part.type and term == shift(part, level):
            return Bound(level, part.type)
        if isinstance(term, Bound):
            return Bound(term.index + (term.index >= level), term.type, term.location)
        if part.open and term.open <= level:
            return term
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(term, 0)


def mentions_outside(body: Term, part: Term, index: int) -> bool:
    """Whether a body mentions the variable of a lambda around it outside of a part."""
    stack = [(body, 0)]
    while stack:
        term, level = stack.pop()
        if term.open <= index + level:
            continue
        if term.head is part.head and term == shift(part, level):
            continue
        if isinstance(term, Bound) and term.index == index + level:
            return True
        inner = level + 1 if isinstance(term, Lambda) else level
        stack.extend((child, inner) for child in term.children)
    return False


def split_lambdas(function: Term, count: int) -> tuple[list[Lambda], Term]:
    """Split a function into its first lambdas and their body."""
    layers: list[Lambda] = []
    for _ in range(count):
        assert isinstance(function, Lambda)
        layers.append(function)
        function = function.body
    return layers, function


def wrap_in_lambdas(layers: list[Lambda], body: Term) -> Term:
    """Wrap a body in these lambdas."""
    for layer in reversed(layers):
        body = Lambda(layer.name, layer.parameter, body, layer.location)
    return body
