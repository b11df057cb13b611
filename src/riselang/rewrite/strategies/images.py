"""Pipelines of images: stages that each take windows of what the stage before gives.

The result is cut into strips of rows, which go to threads. In a strip all stages go on together, a
row at a time: of each stage only those rows are kept, in a ring, that a window of the next one has.
Rows are computed in vectors. What strips share at their borders is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType
from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule, whole
from riselang.rewrite.rules.algorithmic import map_unpairing, overlapped_tiling
from riselang.rewrite.rules.functions import map_fission
from riselang.rewrite.rules.lowering import circular_buffer, store_on_heap
from riselang.rewrite.rules.movement import slide_before_map, slide_of_slide
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.schedules import fuse, parallel, sequential
from riselang.rewrite.strategies.stencils import LineInVectors, scalars_of
from riselang.rewrite.terms import applied, costs_something, viewed
from riselang.rewrite.traversals import argument, everywhere, inside, normalize, top_down
from riselang.term.nodes import Lambda, Term

STRIP = range(16, 65)
"""Rows that a strip may have."""
FEWEST_SCALARS = 16
"""Rows that are shorter are not computed in vectors."""


@schedule
def keep_values() -> Strategy:
    """Stages give values, and the next one makes windows of them; not each stage by itself."""
    ends = Guard("windows are slid over windows", _slides_over_views)
    return normalize(ends >> argument(map_fission) >> slide_before_map) >> fuse()


@schedule
def strips(rows: int | None = None) -> Strategy:
    """A map over windows of rows in strips, each with all stages before; None finds a size."""
    return _Strips(rows)


@schedule
def rings() -> Strategy:
    """Rows that windows share in rings, as many as a window has."""
    return normalize(_Ring())


@schedule
def rows_in_vectors() -> Strategy:
    """All rows of scalars in vectors of this machine; rows of pairs as two rows."""
    slid = Guard("windows are slid over a row", _slides_over_row)
    kept = slid >> argument(_row >> store_on_heap)
    return normalize(_unpaired) >> everywhere(choice(kept, _row))


_row = LineInVectors(fewest=FEWEST_SCALARS)


@dataclass(frozen=True, repr=False)
class _Strips(Strategy):
    """The windows of a strip are windows of a strip before, which is larger by their border."""

    rows: int | None

    def run(self, term: Term, setting: Setting) -> Result:
        type = term.type
        if not isinstance(type, ArrayType) or not type.length.is_constant:
            reason = "expected an array of a known length"
            return Failure(self, reason, term, closeness=CONDITION)
        rows = self.rows or _strip_for(type.length.constant)
        larger = normalize(choice(slide_before_map, slide_of_slide)) >> fuse()
        return seq(overlapped_tiling(rows), argument(argument(larger)), fuse()).run(term, setting)

    def __str__(self) -> str:
        return f"strips({self.rows or ''})"


@dataclass(frozen=True, repr=False)
class _Ring(Strategy):
    """As long as the windows that are slid over what a map gives."""

    def run(self, term: Term, setting: Setting) -> Result:
        slid, type = applied(term, "slide"), term.type
        mapped = None if slid is None else applied(slid[0], "map")
        if mapped is None or not costs_something(mapped[0]):
            return Failure(self, "expected windows of a map that computes", term)
        window = type.element if isinstance(type, ArrayType) else None
        if not isinstance(window, ArrayType) or not isinstance(window.element, ArrayType):
            return Failure(self, "expected windows of rows", term)
        if not window.length.is_constant:
            reason = "the length of the windows is not a number"
            return Failure(self, reason, term, closeness=CONDITION)
        return circular_buffer(window.length.constant).run(term, setting)

    def __str__(self) -> str:
        return "ring"


def _strip_for(rows: int) -> int:
    """The most rows, of those that a strip may have, that divide all rows; else all."""
    return max((size for size in STRIP if rows % size == 0), default=rows)


def _slides_over_views(term: Term) -> bool:
    """Whether a term slides over a map that gives views of what it computes."""
    slid = applied(term, "slide")
    mapped = None if slid is None else applied(slid[0], "map")
    if mapped is None or not isinstance(mapped[0], Lambda):
        return False
    body = mapped[0].body
    inner = viewed(body)
    return inner is not None and applied(inner, "map") is not None


def _slides_over_row(term: Term) -> bool:
    """Whether a term slides over scalars that a map computes."""
    slid = applied(term, "slide")
    return slid is not None and scalars_of(slid[0]) is not None


def _gives_pairs(term: Term) -> bool:
    found = applied(term, "map")
    function = None if found is None else found[0]
    return isinstance(function, Lambda) and applied(function.body, "tuple") is not None


_unpaired = Guard("each element is a pair that is made there", _gives_pairs) >> map_unpairing
_strip = try_(rings()) >> sequential() @ loop(1) >> rows_in_vectors()
line_buffers = whole(
    "images.line_buffers",
    fuse() >> keep_values() >> top_down(strips() >> argument(inside(_strip) >> parallel())),
    "Strips of rows on threads; in each all stages together, a row at a time, in vectors.",
)
