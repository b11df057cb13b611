"""Exact dependence analysis with isl.

Two statement instances depend on each other if both access an element and one of them writes it.
Data-dependent accesses are assumed to happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riselang.frontends.c.emit.nodes import PARALLEL
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.scop import Scop
from riselang.support.lazy import cached_property

MOST_OPERATIONS = 2_000_000
"""The limit on isl operations for the dependence analysis."""


@dataclass(frozen=True)
class Dependences:
    """Pairs of statement instances, the earlier one first, as union maps."""

    flow: Any
    """The second reads what the first wrote last, or may have written last."""
    anti: Any
    """The second overwrites what the first read."""
    output: Any
    """The second overwrites what the first wrote."""

    @cached_property
    def all(self) -> Any:
        return self.flow.union(self.anti).union(self.output).coalesce()


def reads(scop: Scop) -> Any:
    return _accesses(scop, is_write=False)


def writes(scop: Scop) -> Any:
    return _accesses(scop, is_write=True)


def _accesses(scop: Scop, *, is_write: bool) -> Any:
    found = isl().UnionMap(f"{scop.prefix}{{ }}")
    for statement in scop.statements:
        for access in statement.writes if is_write else statement.reads:
            found = found.union(isl().UnionMap.from_map(statement.subscripts[access].relation))
    return found


@lru_cache(maxsize=64)
def dependences(scop: Scop) -> Dependences | None:
    """Compute all dependences of a region in source order; None if isl exceeds its limit."""
    return within_limits(lambda: _found(scop), MOST_OPERATIONS)


def _found(scop: Scop) -> Dependences:
    if scop.schedule is None:
        nothing = isl().UnionMap(f"{scop.prefix}{{ }}")
        return Dependences(nothing, nothing, nothing)
    read, written = reads(scop), writes(scop)
    return Dependences(
        _between(written, read, scop),
        _between(read, written, scop),
        _between(written, written, scop),
    )


def _between(sources: Any, sinks: Any, scop: Scop) -> Any:
    """Return pairs of a source and a later sink that access the same element."""
    info = isl().UnionAccessInfo.from_sink(sinks)
    info = info.set_may_source(sources).set_schedule(scop.schedule)
    return info.compute_flow().get_may_dependence()


class ParallelLoops:
    """Marks parallel loops while isl generates them: those that carry no dependence."""

    def __init__(self, pairs: Dependences):
        self._pairs = pairs.all

    def mark(self, build: Any) -> Any:
        try:
            is_parallel = self._is_parallel(build.get_schedule())
        except isl().Error:
            # The check exceeded the limit. No exception may pass through isl.
            is_parallel = False
        return isl().Id(PARALLEL if is_parallel else "sequential")

    def _is_parallel(self, order: Any) -> bool:
        """Whether no dependence within one iteration of the outer loops is carried by this loop."""
        pairs = self._pairs.apply_domain(order).apply_range(order)
        if pairs.is_empty():
            return True
        between = isl().Map.from_union_map(pairs)
        dims = isl().dim_type
        last = between.dim(dims.in_) - 1
        for position in range(last):
            between = between.equate(dims.in_, position, dims.out, position)
        return bool(between.is_subset(between.equate(dims.in_, last, dims.out, last)))
