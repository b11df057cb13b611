"""Storing reductions that are read often, so that a library can compute all of them in one call.

`map(f, xs)` computes an element of `xs` where `f` needs it. A library computes a complete matrix,
so the result of a matrix multiplication that is an operand of another one is stored in a buffer.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import TO_MEM
from riselang.term.deep_recursion import recursive
from riselang.term.fusion import MAPS, REDUCTIONS
from riselang.term.nodes import Apply, Lambda, Pattern, Term, apply_all, has_pattern, spine
from riselang.term.substitution import is_used_often, map_children


def store_reductions(library: str, term: Term) -> Term:
    """Store each array that is computed by reductions and whose elements are read often."""
    return term if library == "none" else _store(term)


@recursive
def _store(term: Term) -> Term:
    return _store_below(term)


def _store_below(term: Term) -> Term:
    term = map_children(term, _store_below, _store_below)
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec.name not in MAPS or len(arguments) != 2:
        return term
    function, xs = arguments
    if (
        not isinstance(function, Lambda)
        or not is_used_often(function.body)
        or not _has_reduction(xs)
    ):
        return term
    stored = Apply(Pattern(TO_MEM, ("heap", xs.type)), xs, xs.location)
    result = apply_all(head, [function, stored])
    result.location = term.location
    return result


def _has_reduction(term: Term) -> bool:
    """Whether a value that is not stored yet is computed by a reduction."""
    head = spine(term)[0]
    is_stored = isinstance(head, Pattern) and head.spec is TO_MEM
    return has_pattern(term, *REDUCTIONS) and not is_stored
