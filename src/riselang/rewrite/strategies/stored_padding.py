"""Computed arrays that are stored, and then copied to a padded array, as before a convolution.

The array is stored inside of its padding instead, so that it is not copied.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, MAP, PAD_CONST, TO_MEM
from riselang.rewrite.core import Failure, Path, Result, Setting, Strategy
from riselang.rewrite.rules.functions import inline_let
from riselang.rewrite.rules.lowering import not_stored
from riselang.rewrite.rules.storing import pad_const_as_parts, pad_rows_as_columns
from riselang.rewrite.strategies.stored_rows import SCHEDULED_LOOPS
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import AtPath, argument, normalize
from riselang.term.nodes import Bound, Lambda, Pattern, Term, has_pattern, spine
from riselang.term.substitution import mentions


def store_inside_of_padding() -> Strategy:
    """Store computed arrays inside of their padding, if only a padded copy reads them."""
    return normalize(_StoreInsideOfPadding())


@dataclass(frozen=True, repr=False)
class _StoreInsideOfPadding(Strategy):
    """Computes the array that a let stores where a padded copy of it is stored."""

    def can_match(self, head: str) -> bool:
        return head == LET.name

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, LET.name)
        path = None if arguments is None else _path_of_padding(*arguments)
        if path is None:
            reason = "expected a computed array that is stored, and padded"
            return Failure(self, reason, term)
        return (inline_let >> AtPath(path, argument(_AsParts()))).run(term, setting)

    def __str__(self) -> str:
        return "store_inside_of_padding()"


@dataclass(frozen=True, repr=False)
class _AsParts(Strategy):
    """Makes the padding of a stored array parts around it, and computes the array there."""

    def run(self, term: Term, setting: Setting) -> Result:
        if pattern_arguments(term, TO_MEM.name) is not None:
            return not_stored.run(term, setting)
        if pattern_arguments(term, MAP.name) is not None:
            inner = argument(_AsParts()) >> pad_rows_as_columns >> argument(pad_const_as_parts)
            return inner.run(term, setting)
        return (argument(_AsParts()) >> pad_const_as_parts).run(term, setting)

    def __str__(self) -> str:
        return "as_parts()"


def _path_of_padding(value: Term, function: Term) -> Path | None:
    """The path, after a let is inlined, of the `toMem` of the padded value, if nothing else reads
    the value, and it is computed by a loop."""
    stored = pattern_arguments(value, TO_MEM.name)
    if stored is None or not isinstance(function, Lambda) or is_free_to_read(stored[0]):
        return None
    if not has_pattern(stored[0], *SCHEDULED_LOOPS):
        return None
    path: Path = ()
    body, index = function.body, 0
    while True:
        arguments = pattern_arguments(body, TO_MEM.name)
        if arguments is not None and _is_padded(arguments[0], index):
            return path
        inner = [position for position, child in enumerate(body.children)
                 if mentions(child, index + isinstance(body, Lambda))]  # fmt: skip
        if len(inner) != 1:
            return None
        child = body.children[inner[0]]
        if isinstance(child, Lambda) and pattern_arguments(body, LET.name) is None:
            return None
        index += isinstance(body, Lambda)
        body, path = child, (*path, inner[0])


def _is_padded(term: Term, index: int) -> bool:
    """Whether a term is a variable with padding on both sides, perhaps also of its rows."""
    count = 0
    while not isinstance(term, Bound):
        padding = term
        if (arguments := pattern_arguments(term, MAP.name)) is not None:
            if not isinstance(arguments[0], Lambda):
                return False
            padding = arguments[0].body
        elif (arguments := pattern_arguments(term, PAD_CONST.name)) is None:
            return False
        if mentions(arguments[0], index) or not _has_both_sides(padding):
            return False
        term, count = arguments[1], count + 1
    return count > 0 and term.index == index


def _has_both_sides(padding: Term) -> bool:
    """Whether a term adds a known number of elements before and after an array."""
    head, arguments = spine(padding)
    if not isinstance(head, Pattern) or head.spec is not PAD_CONST or len(arguments) != 2:
        return False
    return all(head.sizes[side].is_constant and head.sizes[side] != 0 for side in ("l", "r"))
