"""Iteration domains that are boxes: the range of each loop, or why a domain is not a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop


class NotLifted(Exception):
    """Why a statement is not an operation on arrays."""


DEPENDENT_BOUNDS = "its domain is not a box: bounds depend on loop variables"
_GUARDED = "it runs only if a condition on parameters holds"


@dataclass(frozen=True)
class LoopRange:
    """The values of a loop variable."""

    first: Linear
    length: Linear


def read_box(scop: Scop, statement: ModelStatement, condition: str = "") -> dict[str, LoopRange]:
    """Return the ranges of all loops of a statement that runs for all their values.

    With a condition on loop variables, as isl text, it runs where that holds. Raises NotLifted with
    the reason.
    """
    positions = range(len(statement.iterators))
    ranges = _dimension_ranges(statement, statement.domain, positions)
    if not _box(scop, statement, ranges, condition).is_equal(statement.domain):
        raise NotLifted(_why_no_box(statement, positions))
    return ranges


def inner_ranges(
    scop: Scop, statement: ModelStatement, outer_loops: Sequence[str]
) -> dict[str, LoopRange]:
    """Return the ranges of the loops inside `outer_loops`, which do not depend on those."""
    if not outer_loops:
        return read_box(scop, statement)
    dims = isl().dim_type
    count, depth = len(statement.iterators), len(outer_loops)
    outer = statement.domain.eliminate(dims.set, depth, count - depth)
    inner = statement.domain.eliminate(dims.set, 0, depth)
    ranges = _ranges_if_box(scop, statement, inner, range(depth, count))
    if not inner.intersect(outer).is_equal(statement.domain):
        raise NotLifted("its bounds depend on loops that remain sequential")
    return ranges


def outer_ranges(scop: Scop, statement: ModelStatement, count: int) -> dict[str, LoopRange]:
    """Return the ranges of the outer loops alone."""
    rest = len(statement.iterators) - count
    outer = statement.domain.eliminate(isl().dim_type.set, count, rest)
    return _ranges_if_box(scop, statement, outer, range(count))


def check_runs_always(
    scop: Scop, statement: ModelStatement, ranges: Mapping[str, LoopRange]
) -> None:
    """Check that no condition on parameters keeps a statement from running in its loops."""
    if not _box(scop, statement, ranges).is_equal(statement.domain):
        raise NotLifted(_GUARDED)


def _ranges_if_box(
    scop: Scop, statement: ModelStatement, points: Any, positions: Sequence[int]
) -> dict[str, LoopRange]:
    """Return the ranges of some dimensions, if the points are exactly their product, for the
    parameters for which there are any."""
    ranges = _dimension_ranges(statement, points, positions)
    box = _box(scop, statement, ranges)
    if not box.intersect_params(points.params()).is_equal(points):
        raise NotLifted(_why_no_box(statement, positions))
    return ranges


def _dimension_ranges(
    statement: ModelStatement, points: Any, positions: Sequence[int]
) -> dict[str, LoopRange]:
    names = [name for _, name in statement.iterators]
    ranges: dict[str, LoopRange] = {}
    for position in positions:
        first, last = _read_bound(points.dim_min(position)), _read_bound(points.dim_max(position))
        ranges[names[position]] = LoopRange(first, last - first + Linear(1))
    return ranges


def _box(
    scop: Scop, statement: ModelStatement, ranges: Mapping[str, LoopRange], condition: str = ""
) -> Any:
    names = [name for _, name in statement.iterators]
    parts = [f"{each.first} <= {name} < {each.first + each.length}"
             for name, each in ranges.items()]  # fmt: skip
    text = " and ".join([*parts, *([condition] if condition else [])]) or "0 = 0"
    return isl().Set(f"{scop.prefix}{{ {statement.name}[{', '.join(names)}] : {text} }}")


def _why_no_box(statement: ModelStatement, positions: Sequence[int]) -> str:
    reason = why_not_dense(statement, positions)
    if reason:
        return reason
    if is_product(statement.domain, positions):
        return _GUARDED
    return DEPENDENT_BOUNDS


def why_not_dense(statement: ModelStatement, positions: Sequence[int]) -> str:
    """Return why a statement does not run for all values of some loops between their bounds; empty
    if it does."""
    for position in positions:
        step = statement.domain.get_stride(position).to_python()
        if step != 1:
            return f"the loop over {statement.iterators[position][1]} has a step of {step}"
    text = str(statement.domain)
    if "mod" in text or "exists" in text:
        return "a condition with a remainder or quotient decides in which iterations it runs"
    return ""


def is_product(points: Any, positions: Sequence[int]) -> bool:
    """Whether the bounds of dimensions do not depend on each other."""
    dims = isl().dim_type
    product = isl().Set.universe(points.get_space())
    for position in positions:
        part = points
        for other in positions:
            part = part if other == position else part.eliminate(dims.set, other, 1)
        product = product.intersect(part)
    return bool(product.is_equal(points))


def _read_bound(bound: Any) -> Linear:
    """Return the bound of a loop as one sum of parameters."""
    pieces = bound.get_pieces()
    if len(pieces) != 1:
        raise NotLifted("a bound of its loops is a minimum or maximum")
    _, value = pieces[0]
    dims = isl().dim_type
    if value.get_denominator_val().to_python() != 1:
        raise NotLifted("a bound of its loops is a quotient")
    total = Linear(value.get_constant_val().to_python())
    for position in range(value.dim(dims.param)):
        factor = value.get_coefficient_val(dims.param, position).to_python()
        if factor:
            total = total + Linear.of(value.get_dim_name(dims.param, position)).times(factor)
    return total
