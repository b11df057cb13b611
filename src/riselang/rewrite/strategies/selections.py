"""Moves `take` to the `sort` whose first elements it returns.

Compiled code then selects these elements, and does not sort the others.
"""

from __future__ import annotations

from riselang.rewrite.combinators import Guard, choice
from riselang.rewrite.core import Strategy
from riselang.rewrite.rules.movement import take_before_map, take_before_slide, take_of_take
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import normalize, top_down
from riselang.term.nodes import Term, has_pattern

VIEWS_OF_SORT = ("map", "slide", "take")
"""The patterns between `sort` and `take` that `take` moves before."""


def _takes_from_sort(term: Term) -> bool:
    """Whether a term returns the first elements of views or maps of a sorted array."""
    arguments = pattern_arguments(term, "take")
    if arguments is None or not has_pattern(term, "sort"):
        return False
    source = arguments[-1]
    while pattern_arguments(source, "sort") is None:
        arguments = pattern_arguments(source, *VIEWS_OF_SORT)
        if arguments is None:
            return False
        source = arguments[-1]
    return True


_move_take = Guard("it takes the first elements of a sorted array", _takes_from_sort) >> choice(
    take_before_map, take_before_slide, take_of_take
)
select_sorted: Strategy = top_down(_move_take) >> normalize(_move_take)
"""Moves each `take` of views or maps of a sorted array to the `sort`; fails if there is none."""
