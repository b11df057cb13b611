"""Folds whose accumulator is an array that each round may change in its place.

That is so where a round reads, of the accumulator, nothing but what it is about to write: element
by element (`zip(x, accumulator) |> map(f)`), or by another such fold that starts from it; in the
accumulator's own layout, or in another that the result undoes (`zip(x, accumulator |> split(4)) |>
map(f) |> join`). All else takes two arrays in turns.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import (
    FST,
    GENERATE,
    LET,
    MAP,
    PAD,
    SND,
    TAKE,
    ZIP,
    Role,
)
from riselang.dialects.rise.types import RiseType, components, contains_array, element_of
from riselang.nat import as_nat
from riselang.term.fusion import MAPS
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, apply_all, spine, subterms
from riselang.term.substitution import shift
from riselang.term.views import before_view

REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll")


def updates_in_place(function: Term) -> bool:
    """Whether the function of a fold may write over the accumulator that it reads."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return False
    accumulator = Bound(1, function.parameter)
    return _is_safe(function.body.body, accumulator, accumulator)


def is_elementwise(function: Term) -> bool:
    """Whether a function is made of maps that ask for no loop of their own, and folds of such."""
    parts = (part for part in subterms(function) if isinstance(part, Pattern))
    return all(_is_elementwise_pattern(part) for part in parts)


def _is_elementwise_pattern(pattern: Pattern) -> bool:
    if pattern.spec.role not in (Role.LOOP, Role.PARALLEL, Role.GPU):
        return True
    if pattern.spec.name in REDUCTIONS:
        accumulator = pattern.argument("t")
        return isinstance(accumulator, RiseType) and contains_array(accumulator)
    return pattern.spec in (MAP, GENERATE)


def _is_safe(body: Term, accumulator: Term, place: Term) -> bool:
    """Whether the body may be stored at a place: the accumulator, maybe in another layout.

    The accumulator is a part of a variable. Views that the body ends in are undone at the place, so
    that what is computed before them is compared with where it goes.
    """
    if body == place or not _mentions(body, accumulator):
        return True
    head, arguments = spine(body)
    if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
        return False
    before = before_view(body, place) or _before_take(body, place)
    if before is not None:
        return _is_safe(before[0], accumulator, before[1])
    if head.spec.name in MAPS:
        return _is_safe_map(arguments[0], arguments[1], accumulator, place)
    if head.spec.name in REDUCTIONS:
        function, start, xs = arguments
        apart = not _mentions(function, accumulator) and not _mentions(xs, accumulator)
        return apart and start == place and updates_in_place(function)
    if head.spec is LET and isinstance(arguments[1], Lambda):
        inner = _is_safe(arguments[1].body, shift(accumulator, 1), shift(place, 1))
        return not _mentions(arguments[0], accumulator) and inner
    return False


def _before_take(body: Term, place: Term) -> tuple[Term, Term] | None:
    """The same for `take`, also of the rows: the place is filled up, as the body may do.

    What a round reads there of elements that it has changed already is what `take` drops.
    """
    head, arguments = spine(body)
    assert isinstance(head, Pattern)
    if head.spec is TAKE:
        count, dropped, element = head.arguments
        filled = Pattern(PAD, (count, as_nat(0), dropped, element))
        return arguments[0], Apply(filled, place)
    if head.spec is not MAP or not isinstance(arguments[0], Lambda):
        return None
    row = arguments[0].body
    inner = _before_take(row, Bound(0, row.type)) if isinstance(spine(row)[0], Pattern) else None
    if inner is None or inner[0] != Bound(0, arguments[0].parameter):
        return None
    function = Lambda("row", row.type, inner[1])
    count = head.argument("n")
    return arguments[1], apply_all(
        Pattern(MAP, (count, row.type, inner[1].type)), [function, place]
    )


def _is_safe_map(function: Term, xs: Term, accumulator: Term, place: Term) -> bool:
    if not isinstance(function, Lambda) or _mentions(function, accumulator):
        return False
    element = _element(xs, accumulator, place, Bound(0, function.parameter))
    if element is None:
        return False
    return not contains_array(element.type) or _is_safe(function.body, element, element)


def _element(xs: Term, accumulator: Term, place: Term, element: Term) -> Term | None:
    """The part of an element that is of the place, where `xs` has that once, zipped."""
    if xs == place:
        return element
    head, arguments = spine(xs)
    if not isinstance(head, Pattern) or head.spec is not ZIP or len(arguments) != 2:
        return None
    having = [part for part in arguments if _mentions(part, accumulator)]
    if len(having) != 1:
        return None
    spec = FST if having[0] is arguments[0] else SND
    part = Apply(Pattern(spec, components(element_of(xs.type))), element)
    return _element(having[0], accumulator, place, part)


def _mentions(term: Term, accumulator: Term) -> bool:
    """Whether a term has anything of the accumulator: other parts of its variable do not count."""
    variable, path = _part(accumulator)
    assert isinstance(variable, Bound)
    stack = [(term, variable.index)]
    while stack:
        current, level = stack.pop()
        if current.open <= level:
            continue
        root, found = _part(current)
        if isinstance(root, Bound):
            if root.index == level and not _are_apart(path, found):
                return True
            continue
        inner = level + 1 if isinstance(current, Lambda) else level
        stack.extend((child, inner) for child in current.children)
    return False


def _part(term: Term) -> tuple[Term, tuple[str, ...]]:
    """Of what a term is a component, and which, from the outside in."""
    path: list[str] = []
    while isinstance(term, Apply) and isinstance(term.function, Pattern):
        if term.function.spec not in (FST, SND):
            break
        path.append(term.function.spec.name)
        term = term.argument
    return term, tuple(reversed(path))


def _are_apart(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether neither of two components is in the other."""
    return any(first != second for first, second in zip(one, other, strict=False))
