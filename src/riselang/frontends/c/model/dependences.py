"""Exact dependence analysis with isl.

Two statement instances depend on each other if both access an element and one of them writes it.
Data-dependent accesses are assumed to happen. The order of two updates of an element that commute
(`commuting_updates.py`) does not matter, but they must not run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riselang.frontends.c.emit.isl_ast import PARALLEL_MARK
from riselang.frontends.c.model.commuting_updates import commuting_operation
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Variable
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
    commuting: Any = None
    """Pairs of these that may run in either order; None if there are none."""

    @cached_property
    def all(self) -> Any:
        return self.flow.union(self.anti).union(self.output).coalesce()

    @cached_property
    def ordered(self) -> Any:
        """All pairs whose first instance must run before the second."""
        return self.all if self.commuting is None else self.all.subtract(self.commuting).coalesce()


def read_relation(scop: Scop) -> Any:
    return _union_access_relation(scop, is_write=False)


def write_relation(scop: Scop) -> Any:
    return _union_access_relation(scop, is_write=True)


def _union_access_relation(
    scop: Scop, *, is_write: bool, accepts: Callable[[ModelStatement, Access], bool] | None = None
) -> Any:
    """Return which elements the statements access, by those accesses that are accepted."""
    relation = isl().UnionMap(f"{scop.prefix}{{ }}")
    for statement in scop.statements:
        for access in statement.writes if is_write else statement.reads:
            if accepts is not None and not accepts(statement, access):
                continue
            relation = relation.union(
                isl().UnionMap.from_map(statement.access_relations[access].relation)
            )
    return relation


@lru_cache(maxsize=64)
def dependences(scop: Scop) -> Dependences | None:
    """Compute all dependences of a region in source order; None if isl exceeds its limit."""
    return within_limits(lambda: _compute_dependences(scop), MOST_OPERATIONS)


def _compute_dependences(scop: Scop) -> Dependences:
    if scop.schedule is None:
        nothing = isl().UnionMap(f"{scop.prefix}{{ }}")
        return Dependences(nothing, nothing, nothing)
    read, written = read_relation(scop), write_relation(scop)
    return Dependences(
        _dependences_between(written, read, scop),
        _dependences_between(read, written, scop),
        _dependences_between(written, written, scop),
        _commuting_pairs(scop, written),
    )


def _commuting_pairs(scop: Scop, written: Any) -> Any:
    """Return the pairs of instances that update an element by the same operation, and of which none
    reads as an operand what the other writes; None if no statement is such an update."""
    operations = {each: commuting_operation(each) for each in scop.statements}
    kinds = {kind for kind in operations.values() if kind is not None}
    if not kinds:
        return None

    def is_operand(statement: ModelStatement, access: Access) -> bool:
        body = statement.body
        is_target = isinstance(body, Assign) and access == body.target
        return operations[statement] is None or not is_target

    pairs = isl().UnionMap(f"{scop.prefix}{{ }}")
    for kind in kinds:
        updates = _union_access_relation(
            scop,
            is_write=True,
            accepts=lambda statement, _, kind=kind: operations[statement] == kind,
        )
        pairs = pairs.union(_dependences_between(updates, updates, scop))
    operands = _union_access_relation(scop, is_write=False, accepts=is_operand)
    for sources, sinks in ((written, operands), (operands, written)):
        pairs = pairs.subtract(_dependences_between(sources, sinks, scop))
    return None if pairs.is_empty() else pairs


def _dependences_between(sources: Any, sinks: Any, scop: Scop, kills: Any = None) -> Any:
    """Return pairs of a source and a later sink that access the same element; sources that are
    `kills` overwrite what earlier sources wrote."""
    info = isl().UnionAccessInfo.from_sink(sinks)
    info = info.set_may_source(sources).set_schedule(scop.schedule)
    if kills is not None:
        info = info.set_must_source(kills)
    pairs = info.compute_flow().get_may_dependence()
    return pairs.intersect_params(scop.context_set) if scop.context else pairs


class ParallelLoopMarker:
    """Marks parallel loops while isl generates them: those that carry no dependence."""

    def __init__(self, pairs: Dependences):
        self._pairs = pairs.all

    def mark(self, build: Any) -> Any:
        try:
            is_parallel = self._is_parallel(build.get_schedule())
        except isl().Error:
            # The check exceeded the limit. No exception may pass through isl.
            is_parallel = False
        return isl().Id(PARALLEL_MARK if is_parallel else "sequential")

    def _is_parallel(self, order: Any) -> bool:
        """Whether no dependence within one iteration of the outer loops is carried by this loop."""
        pairs = self._pairs.apply_domain(order).apply_range(order)
        if pairs.is_empty():
            return True
        pair_map = isl().Map.from_union_map(pairs)
        dims = isl().dim_type
        last = pair_map.dim(dims.in_) - 1
        for position in range(last):
            pair_map = pair_map.equate(dims.in_, position, dims.out, position)
        return bool(pair_map.is_subset(pair_map.equate(dims.in_, last, dims.out, last)))


class PrivatizingLoopMarker(ParallelLoopMarker):
    """Also marks loops whose iterations depend on each other only because they use the same local
    scalars, which each iteration writes before it reads them: each can have its own."""

    def __init__(self, scop: Scop):
        self._scalars = [each for each in scop.locals if not each.is_array]

        def is_shared(_: ModelStatement, access: Access) -> bool:
            return access.variable not in self._scalars

        read = _union_access_relation(scop, is_write=False, accepts=is_shared)
        written = _union_access_relation(scop, is_write=True, accepts=is_shared)
        super().__init__(
            Dependences(
                _dependences_between(written, read, scop),
                _dependences_between(read, written, scop),
                _dependences_between(written, written, scop),
            )
        )
        self._writes: list[Any] = []
        self._flows: list[Any] = []
        for scalar in self._scalars:
            self._add_scalar(scop, scalar)

    def _add_scalar(self, scop: Scop, scalar: Variable) -> None:
        def is_own(_: ModelStatement, access: Access) -> bool:
            return access.variable is scalar

        def is_certain(statement: ModelStatement, access: Access) -> bool:
            return access.variable is scalar and access in statement.must_accesses

        written = _union_access_relation(scop, is_write=True, accepts=is_own)
        certain = _union_access_relation(scop, is_write=True, accepts=is_certain)
        read = _union_access_relation(scop, is_write=False, accepts=is_own)
        self._writes.append(written)
        self._flows.append(_dependences_between(written, read, scop, certain))

    def _is_parallel(self, order: Any) -> bool:
        instances = order.domain()
        return super()._is_parallel(order) and all(
            written.intersect_domain(instances).is_empty() or _stays_inside(flow, order, instances)
            for written, flow in zip(self._writes, self._flows, strict=True)
        )


def _stays_inside(flow: Any, order: Any, instances: Any) -> bool:
    """Whether values flow only within one iteration of a loop, and neither into it nor out of
    it."""
    coming = flow.intersect_range(instances)
    leaving = flow.intersect_domain(instances)
    inside = coming.intersect_domain(instances)
    if not coming.is_subset(inside) or not leaving.is_subset(inside):
        return False
    pairs = inside.apply_domain(order).apply_range(order)
    if pairs.is_empty():
        return True
    pair_map = isl().Map.from_union_map(pairs)
    dims, equal = isl().dim_type, pair_map
    for position in range(pair_map.dim(dims.in_)):
        equal = equal.equate(dims.in_, position, dims.out, position)
    return bool(pair_map.is_subset(equal))
