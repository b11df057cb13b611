"""The choice of a strategy for maps over windows: stencils, convolutions, image pipelines.

Windows of stored arrays are read in vectors. If a stage computes the elements of the next stage's
windows, the stages are fused and run a row at a time, so that no window recomputes elements.
"""

from __future__ import annotations

from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.strategies.convolution import by_lines
from riselang.rewrite.strategies.images import line_buffers
from riselang.rewrite.strategies.stencils import match_scalar_nest, vectors
from riselang.rewrite.term_parts import has_cost, pattern_arguments, view_source
from riselang.term.nodes import Term, subterms

MIN_ELEMENTS = 1 << 14
"""The minimum number of elements of a result for which scheduling is worth the compile time."""


def recognize_windows(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Describe the windows of a term, their schedule, and its strategy; or return None.

    Windows of computed values, possibly transposed, are left unchanged, since each window would
    recompute the values.
    """
    nest = match_scalar_nest(term)
    if nest is None or nest.typical_elements < MIN_ELEMENTS:
        return None
    description = f"windows for {nest.elements} elements"
    if any(map(_slides_over_values, subterms(term))):
        return (
            f"{description}, in stages",
            "strips of rows, all stages a row at a time",
            line_buffers,
        )
    arguments = pattern_arguments(term, "map")
    if arguments is None or has_cost(arguments[1]):
        return None
    if setting.float == "relaxed":
        schedule = "sums of lines if weights are products, else windows in vectors"
        return description, schedule, by_lines | vectors
    return description, "in vectors, with reductions in registers", vectors


def _slides_over_values(term: Term) -> bool:
    """Whether a term slides over values that a map computes."""
    slide_arguments = pattern_arguments(term, "slide")
    source = None if slide_arguments is None else slide_arguments[0]
    while source is not None:
        map_arguments = pattern_arguments(source, "map")
        if map_arguments is not None and has_cost(map_arguments[0]):
            return True
        source = view_source(source)
    return False
