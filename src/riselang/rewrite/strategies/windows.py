"""Which strategy suits maps over windows: stencils, convolutions, pipelines of images.

Windows of what is there already are read in vectors. Where a stage computes what the windows of the
next one are made of, stages go on together, a row at a time, so that no window computes it anew.
"""

from __future__ import annotations

from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.strategies.convolution import by_lines
from riselang.rewrite.strategies.images import line_buffers
from riselang.rewrite.strategies.stencils import nest_of, vectors
from riselang.rewrite.terms import applied, costs_something, viewed
from riselang.term.nodes import Term, subterms

SMALLEST = 1 << 16
"""Elements of a result from which on it is worth the time to compile."""


def windows_in(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """What windows stand there, how they are arranged and by which strategy; or None.

    Windows of values that come from elsewhere, turned round perhaps, are left alone: each would
    compute them again.
    """
    nest = nest_of(term)
    if nest is None or nest.elements < SMALLEST:
        return None
    what = f"windows for {nest.elements} elements"
    if any(map(_slides_over_values, subterms(term))):
        return f"{what}, in stages", "strips of rows, all stages a row at a time", line_buffers
    found = applied(term, "map")
    if found is None or costs_something(found[1]):
        return None
    if setting.float == "relaxed":
        how = "sums of lines where weights are products, else windows in vectors"
        return what, how, by_lines | vectors
    return what, "in vectors, with folds in registers", vectors


def _slides_over_values(term: Term) -> bool:
    """Whether a term makes windows of what a map computes."""
    slid = applied(term, "slide")
    inner = None if slid is None else slid[0]
    while inner is not None:
        mapped = applied(inner, "map")
        if mapped is not None and costs_something(mapped[0]):
            return True
        inner = viewed(inner)
    return False
