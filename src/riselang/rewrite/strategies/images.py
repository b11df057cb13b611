"""Image pipelines: each stage reads windows of the result of the previous stage.

The result is split into strips of rows, which run in parallel. In a strip, all stages are fused and
run a row at a time: line buffers hold the rows of each stage that a window of the next one needs.
Rows are vectorized. Rows at the border of two strips are computed in both.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType
from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import program_strategy, schedule
from riselang.rewrite.rules.algorithmic import map_unpairing, overlapped_tiling
from riselang.rewrite.rules.functions import map_fission
from riselang.rewrite.rules.lowering import circular_buffer, store_on_heap
from riselang.rewrite.rules.movement import slide_before_map, slide_of_slide
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.schedules import fuse, parallel, sequential
from riselang.rewrite.strategies.stencils import LineInVectors, scalar_count
from riselang.rewrite.term_parts import has_cost, pattern_arguments, view_source
from riselang.rewrite.traversals import argument, everywhere, inside, normalize, top_down
from riselang.term.nodes import Lambda, Term

STRIP_ROWS = range(16, 65)
"""The number of rows of a strip."""
MIN_SCALARS = 16
"""Shorter rows are not vectorized."""


@schedule
def keep_values() -> Strategy:
    """Moves windows from the end of a stage to the start of the next, so stages return elements."""
    is_view_of_map = Guard("slide reads windows", _slides_over_views)
    return normalize(is_view_of_map >> argument(map_fission) >> slide_before_map) >> fuse()


@schedule
def strips(rows: int | None = None) -> Strategy:
    """Splits a map over windows of rows, with all stages, into strips; None chooses a size."""
    return _Strips(rows)


@schedule
def buffer_lines() -> Strategy:
    """Stores rows that windows share in line buffers, each with as many rows as a window."""
    return normalize(_LineBuffer())


@schedule
def rows_in_vectors() -> Strategy:
    """Vectorizes all rows of scalars for this machine; rows of pairs become two rows."""
    is_slid_over = Guard("slide reads a row", _slides_over_row)
    store_row = is_slid_over >> argument(_vectorize_row >> store_on_heap)
    return normalize(_split_pairs) >> everywhere(choice(store_row, _vectorize_row))


_vectorize_row = LineInVectors(min_length=MIN_SCALARS)


@dataclass(frozen=True, repr=False)
class _Strips(Strategy):
    """Also splits the earlier stages: their strips are larger by the border of a window."""

    rows: int | None

    def run(self, term: Term, setting: Setting) -> Result:
        type = term.type
        if not isinstance(type, ArrayType) or not type.length.is_constant:
            reason = "expected an array of constant length"
            return Failure(self, reason, term, closeness=CONDITION)
        rows = self.rows or _strip_rows(type.length.constant)
        enlarge_strips = normalize(choice(slide_before_map, slide_of_slide)) >> fuse()
        return seq(overlapped_tiling(rows), argument(argument(enlarge_strips)), fuse()).run(
            term, setting
        )

    def __str__(self) -> str:
        return f"strips({self.rows or ''})"


@dataclass(frozen=True, repr=False)
class _LineBuffer(Strategy):
    """Stores the results of a map in a line buffer that has as many rows as a window."""

    def run(self, term: Term, setting: Setting) -> Result:
        slide_arguments, type = pattern_arguments(term, "slide"), term.type
        map_arguments = (
            None if slide_arguments is None else pattern_arguments(slide_arguments[0], "map")
        )
        if map_arguments is None or not has_cost(map_arguments[0]):
            return Failure(self, "expected windows of computed elements", term)
        window = type.element if isinstance(type, ArrayType) else None
        if not isinstance(window, ArrayType) or not isinstance(window.element, ArrayType):
            return Failure(self, "expected windows of rows", term)
        if not window.length.is_constant:
            reason = "the length of the windows is not a constant"
            return Failure(self, reason, term, closeness=CONDITION)
        return circular_buffer(window.length.constant).run(term, setting)

    def __str__(self) -> str:
        return "line_buffer"


def _strip_rows(rows: int) -> int:
    """The largest permitted number of rows that divides all rows; all rows if there is none."""
    return max((size for size in STRIP_ROWS if rows % size == 0), default=rows)


def _slides_over_views(term: Term) -> bool:
    """Whether a term slides over a map that returns views of computed values."""
    slide_arguments = pattern_arguments(term, "slide")
    map_arguments = (
        None if slide_arguments is None else pattern_arguments(slide_arguments[0], "map")
    )
    if map_arguments is None or not isinstance(map_arguments[0], Lambda):
        return False
    body = map_arguments[0].body
    inner = view_source(body)
    return inner is not None and pattern_arguments(inner, "map") is not None


def _slides_over_row(term: Term) -> bool:
    """Whether a term slides over scalars that a map computes."""
    slide_arguments = pattern_arguments(term, "slide")
    return slide_arguments is not None and scalar_count(slide_arguments[0]) is not None


def _returns_pairs(term: Term) -> bool:
    arguments = pattern_arguments(term, "map")
    function = None if arguments is None else arguments[0]
    return isinstance(function, Lambda) and pattern_arguments(function.body, "tuple") is not None


_split_pairs = Guard("the function of the map returns a new pair", _returns_pairs) >> map_unpairing
_schedule_strip = try_(buffer_lines()) >> sequential() @ loop(1) >> rows_in_vectors()
line_buffers = program_strategy(
    "images.line_buffers",
    fuse()
    >> keep_values()
    >> top_down(strips() >> argument(inside(_schedule_strip) >> parallel())),
    "Computes strips of rows in parallel; in each, all stages are fused and vectorized by row.",
)
