"""A schedule plan for a region: statements are split by loop fission wherever dependences permit
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from riselang.frontends.c.model.dependences import Dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.order import at_once, edges, groups, keeps
from riselang.frontends.c.schedule.rows import Nest, NoRows, Rows, nests
from riselang.frontends.c.schedule.statements import CHAINS, TOGETHER, Alone, left_over, run_of
from riselang.frontends.c.schedule.steps import Around, OneByOne, Plan, schedule_of

LARGEST_FACTOR = 4


class NoPlan(Exception):
    """isl's schedule rows give no order that preserves all dependences."""


def arranged(scop: Scop, pairs: Dependences) -> Any:
    """Return an optimized schedule tree; None if isl gives no rows to build it from."""
    try:
        found = nests(scop, _scheduled(scop, pairs))
        plan = _whole(scop, found, pairs.all)
    except (NoRows, NoPlan):
        return None
    return schedule_of(scop, plan)


def _scheduled(scop: Scop, pairs: Dependences) -> Any:
    """Compute isl's own schedule: statements are separate unless they form a dependence cycle."""
    constraints = (
        isl()
        .ScheduleConstraints.on_domain(scop.schedule.get_domain())
        .set_validity(pairs.all)
        .set_coincidence(pairs.all)
        .set_proximity(pairs.flow.union(pairs.anti))
    )
    context = isl().DEFAULT_CONTEXT
    # Large coefficients give poor loops, and take long to find.
    context.set_schedule_max_coefficient(LARGEST_FACTOR)
    context.set_schedule_max_constant_term(5 * LARGEST_FACTOR)
    context.set_schedule_serialize_sccs(1)
    return constraints.compute_schedule()


@dataclass(frozen=True)
class _Part:
    """Statements in the same iteration of the loops around them."""

    scop: Scop
    names: tuple[str, ...]
    rows: Mapping[str, Rows]
    """The rows that are not loops yet."""
    shared: int
    outer: Mapping[str, Rows]
    pairs: Any
    """The dependences within one iteration of the outer loops."""


def _whole(scop: Scop, found: Sequence[Nest], pairs: Any) -> Plan:
    parts: list[Plan] = []
    for nest in found:
        names = tuple(nest.rows)
        inside = _between(scop, names, pairs)
        outer: dict[str, Rows] = dict.fromkeys(names, ())
        parts.append(_planned(_Part(scop, names, nest.rows, nest.shared, outer, inside)))
    return parts[0] if len(parts) == 1 else OneByOne(tuple(parts))


def _between(scop: Scop, names: Sequence[str], pairs: Any) -> Any:
    """Return the dependences among some statements."""
    domain = isl().UnionSet(f"{scop.prefix}{{ }}")
    for name in names:
        domain = domain.union(isl().UnionSet.from_set(scop.statement(name).domain))
    return pairs.intersect_domain(domain).intersect_range(domain)


def _planned(part: _Part) -> Plan:
    """Plan a sequence of statements, with shared loops around those that cannot be split."""
    circles = groups(part.names, edges(part.pairs))
    plans = tuple(_circle(_narrowed(part, tuple(circle))) for circle in circles)
    return plans[0] if len(plans) == 1 else OneByOne(plans)


def _narrowed(part: _Part, names: tuple[str, ...]) -> _Part:
    pairs = _between(part.scop, names, part.pairs)
    return replace(part, names=names, pairs=pairs)


def _circle(part: _Part) -> Plan:
    if len(part.names) == 1:
        (name,) = part.names
        statement = part.scop.statement(name)
        outer = part.outer[name]
        rows = left_over(part.rows[name], outer, statement)
        return run_of(Alone(part.scop, statement, outer, rows, part.pairs))
    for choice in _choices(part):
        found = _under(part, choice)
        if found is not None:
            return found
    raise NoPlan


Choice = tuple[tuple[int, int], ...]
"""Rows of a band that become shared loops, by position, and the tile sizes."""


def _choices(part: _Part) -> Iterator[Choice]:
    """Yield the possible shared loops around statements in a dependence cycle, the best first."""
    shared = min(part.shared, *(len(part.rows[name]) for name in part.names))
    if shared > 1:
        deepest = _deepest(part)
        for inner in range(shared):
            along = [alone.is_along_memory(alone.rows[inner]) for alone in deepest]
            if sum(along) * 2 > len(along):
                yield from _around(inner, shared, TOGETHER)
                yield tuple((at, 1) for at in range(shared) if at != inner)
        for inner in range(shared):
            if all(alone.reads_along(alone.rows[inner]) for alone in deepest):
                yield from _around(inner, shared, CHAINS)
    if shared >= 1 or all(part.rows[name] for name in part.names):
        yield ((0, 1),)


def _around(inner: int, shared: int, size: int) -> Iterator[Choice]:
    """Yield all rows but the innermost, one of them tiled."""
    others = [at for at in range(shared) if at != inner]
    for tiled in others:
        yield ((tiled, size), *((at, 1) for at in others if at != tiled))


def _deepest(part: _Part) -> list[Alone]:
    """Return the statements with the deepest loops."""
    statements = [part.scop.statement(name) for name in part.names]
    depth = max(len(statement.iterators) for statement in statements)
    return [
        Alone(part.scop, each, part.outer[each.name], part.rows[each.name], None)
        for each in statements
        if len(each.iterators) == depth
    ]


def _under(part: _Part, choice: Choice) -> Plan | None:
    """Return the plan with some shared loops; None if it is invalid or gains nothing."""
    added = {
        name: tuple(part.rows[name][at].divided(size) for at, size in choice) for name in part.names
    }
    if not keeps(part.scop, part.pairs, added, strictly=False):
        return None
    pairs = at_once(part.scop, part.pairs, added)
    fixed = {at for at, size in choice if size == 1}
    inner = _Part(
        part.scop,
        part.names,
        {name: _without(part.rows[name], fixed) for name in part.names},
        max(part.shared - len(fixed), 0),
        {name: (*part.outer[name], *added[name]) for name in part.names},
        pairs,
    )
    is_last = len(choice) == 1 and choice[0] == (0, 1)
    if not is_last and len(groups(part.names, edges(pairs))) < len(part.names):
        return None
    rows: list[Mapping[str, Linear]] = [
        {name: added[name][at] for name in part.names} for at in range(len(choice))
    ]
    return Around(tuple(rows), _planned(inner))


def _without(rows: Rows, positions: set[int]) -> Rows:
    return tuple(row for at, row in enumerate(rows) if at not in positions)
