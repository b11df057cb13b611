"""Steps of models that reduce rows, such as those of a softmax, become one loop over the rows.

Models compute each step in loops of its own over whole arrays: the powers, their sums and the
quotients. Where the result is stored, all of them are fused to formulas of a row, and the
reductions of the row are computed before the loop over its elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.rewrite.combinators import choice, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.algorithmic import (
    map_fusion,
    reduce_map_fusion,
    zip_of_equal,
    zip_of_map_first,
    zip_of_map_second,
)
from riselang.rewrite.rules.functions import hoist_from_map, inline_let
from riselang.rewrite.rules.movement import transpose_before_map
from riselang.rewrite.strategies.gpu_elements import join_mapped_blocks
from riselang.rewrite.strategies.gpu_reductions import reduces_rows
from riselang.rewrite.strategies.schedules import SIMPLIFICATIONS
from riselang.rewrite.term_parts import has_cost, is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import normalize, run_at
from riselang.term.nodes import Bound, DepLambda, Lambda, Scalar, Term, has_pattern, subterms
from riselang.term.substitution import mentions

FUSIONS = choice(
    SIMPLIFICATIONS, inline_let, map_fusion, reduce_map_fusion, zip_of_equal, zip_of_map_first,
    zip_of_map_second, join_mapped_blocks, transpose_before_map,
)  # fmt: skip
"""Laws that fuse loops over arrays, and replace names with what they stand for."""
_fuse_rows = normalize(FUSIONS) >> try_(normalize(hoist_from_map))


@dataclass(frozen=True, repr=False)
class FuseRows(Strategy):
    """Fuses powers that have a name to the rows that are stored."""

    def run(self, term: Term, setting: Setting) -> Result:
        let = pattern_arguments(term, "let")
        if let is None or not isinstance(let[1], Lambda) or not _computes_powers(let[0]):
            return Failure(self, "expected a name for powers", term)
        path = _reader(let[1].body)
        inlined = inline_let.run(term, setting)
        if path is None or not isinstance(inlined, Success) or setting.float != "relaxed":
            return Failure(self, "expected powers that are read for one stored array", term)
        fused = run_at(_fuse_rows, inlined.term, path, subterm_at(inlined.term, path), setting)
        if not isinstance(fused, Success) or not _is_loop_over_rows(subterm_at(fused.term, path)):
            return Failure(self, "expected a loop over rows", term)
        return Success(fused.term, (*inlined.steps, *fused.steps))

    def __str__(self) -> str:
        return "fuse_rows()"


def _computes_powers(value: Term) -> bool:
    has_power = any(isinstance(part, Scalar) and part.op == "math.exp" for part in subterms(value))
    return has_power and pattern_arguments(value, "map") is not None and _is_row_wise(value)


def _is_row_wise(value: Term) -> bool:
    """Whether reductions are of rows, and not of products."""
    return not has_pattern(value, "toMem", "transpose", "slide")


def _reader(body: Term) -> Path | None:
    """Return the path of the stored array that alone reads the innermost variable."""
    path: Path = ()
    term, index, found = body, 0, None
    while True:
        stored = pattern_arguments(term, "toMem")
        if stored is not None:
            path, term, found = (*path, 1), stored[-1], (*path, 1)
            continue
        users = [
            number for number, child in enumerate(_children(term))
            if mentions(child, index + isinstance(term, Lambda))
        ]  # fmt: skip
        if len(users) != 1 or isinstance(term, Bound):
            return found
        index += isinstance(term, Lambda)
        path, term = (*path, users[0]), _children(term)[users[0]]


def _children(term: Term) -> tuple[Term, ...]:
    return (term.children[0],) if isinstance(term, Lambda | DepLambda) else tuple(term.children)


def _is_loop_over_rows(term: Term) -> bool:
    """Whether a nest of maps over a stored array computes rows from rows."""
    mapped = pattern_arguments(term, "map")
    if mapped is None or not is_free_to_read(mapped[1]) or not reduces_rows(term):
        return False
    levels = list(_levels(term))
    return len(levels) > 2 and has_cost(levels[-1])


def _levels(term: Term) -> Iterator[Term]:
    """Yield the maps of a nest, and the body of the innermost one."""
    while (mapped := pattern_arguments(term, "map")) and isinstance(mapped[0], Lambda):
        yield term
        term = mapped[0].body
        while (let := pattern_arguments(term, "let")) and isinstance(let[1], Lambda):
            term = let[1].body
    yield term
