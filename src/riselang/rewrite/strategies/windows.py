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

MIN_ELEMENTS = 1 << 16
"""Elements of a result from which on it is worth the compile time."""


def recognize_windows(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Describe the windows of a term, their schedule, and its strategy; or return None.

    Windows of computed values, possibly transposed, are left unchanged: each would recompute them.
    """
    nest = match_scalar_nest(term)
    if nest is None or nest.elements < MIN_ELEMENTS:
        return None
    what = f"windows for {nest.elements} elements"
    if any(map(_slides_over_values, subterms(term))):
        return f"{what}, in stages", "strips of rows, all stages a row at a time", line_buffers
    found = pattern_arguments(term, "map")
    if found is None or has_cost(found[1]):
        return None
    if setting.float == "relaxed":
        how = "sums of lines if weights are products, else windows in vectors"
        return what, how, by_lines | vectors
    return what, "in vectors, with reductions in registers", vectors


def _slides_over_values(term: Term) -> bool:
    """Whether a term slides over values that a map computes."""
    slid = pattern_arguments(term, "slide")
    inner = None if slid is None else slid[0]
    while inner is not None:
        mapped = pattern_arguments(inner, "map")
        if mapped is not None and has_cost(mapped[0]):
            return True
        inner = view_source(inner)
    return False
