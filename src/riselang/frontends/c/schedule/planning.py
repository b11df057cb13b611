"""A schedule plan for a region: statements are split by loop fission wherever dependences permit
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from riselang.frontends.c.emit.loop_vectorization import is_vectorizable
from riselang.frontends.c.model.dependences import Dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.dependence_queries import (
    dependence_edges,
    is_parallel,
    preserves_dependences,
    simultaneous_dependences,
    strongly_connected_components,
)
from riselang.frontends.c.schedule.interleaved_writes import group_nests, plan_together
from riselang.frontends.c.schedule.plan import (
    Plan,
    PlanSequence,
    SharedLoops,
    StatementLoops,
    build_plan_schedule,
    collect_statement_loops,
)
from riselang.frontends.c.schedule.rows import NoRows, Rows, ScheduledNest, schedule_nests
from riselang.frontends.c.schedule.size_versions import (
    cached_bytes,
    sizes_up_to,
    versions_by_size,
)
from riselang.frontends.c.schedule.statement_loops import (
    INTERLEAVED_REDUCTIONS,
    UNROLL_AND_JAM,
    SingleStatement,
    choose_loops,
    remaining_rows,
)
from riselang.support.machine import this_machine

MAX_COEFFICIENT = 4
MAX_TILED_LOOPS = 3
"""The limit on shared loops of which one is tiled. With more, the iterations of a tile that use the
same elements are planes of an array apart, and these do not stay in the cache."""
PLANE_LOOPS = 2
"""The number of loops that statements do not share if they have more than `MAX_TILED_LOOPS` and all
arrays stay in a cache: the rows of planes need no conditions."""

MIN_DEEP_LOOPS = 4
"""From how many nested loops on isl gets simplified dependences: its time grows steeply with the
number of loops and with that of the dependences."""
MANY_DEPENDENCES = 64
"""From how many dependences on isl gets simplified ones for one nested loop less."""


class NoPlan(Exception):
    """isl's schedule rows give no order that preserves all dependences."""


def plan_schedules(scop: Scop, pairs: Dependences) -> list[Any]:
    """Return optimized schedule trees, the best first; none if isl gives no rows to build them
    from.

    If another plan is faster for arrays that stay in a cache, the first tree contains both.
    """
    try:
        nests = schedule_nests(scop, _compute_isl_schedule(scop, pairs, pairs.ordered))
        large = _plan_nests(scop, nests, pairs.ordered, stays_in_cache=False)
        small = _plan_nests(scop, nests, pairs.ordered, stays_in_cache=True)
    except (NoRows, NoPlan):
        return []
    schedule = build_plan_schedule(scop, large)
    small_schedule = build_plan_schedule(scop, small)
    if small_schedule.to_str() == schedule.to_str():
        return [schedule]
    in_planes = all(nest.shared > MAX_TILED_LOOPS for nest in nests if len(nest.rows) > 1)
    sizes = sizes_up_to(scop, cached_bytes(this_machine(), in_planes=in_planes))
    return (
        [schedule]
        if sizes is None
        else [versions_by_size(small_schedule, schedule, sizes), schedule]
    )


def outer_parallel_schedule(scop: Scop, pairs: Dependences) -> Any:
    """Compute a schedule whose outermost loops have independent iterations where possible."""
    context = isl().DEFAULT_CONTEXT
    context.set_schedule_outer_coincidence(1)
    try:
        return _compute_isl_schedule(scop, pairs, pairs.all)
    finally:
        context.set_schedule_outer_coincidence(0)


def _compute_isl_schedule(scop: Scop, pairs: Dependences, order: Any) -> Any:
    """Compute isl's own schedule, which preserves an order: statements are separate unless they
    form a dependence cycle."""
    near = pairs.flow.union(pairs.anti)
    loops = max(len(statement.iterators) for statement in scop.statements)
    if loops + (order.n_map() >= MANY_DEPENDENCES) >= MIN_DEEP_LOOPS:
        order = order.subtract(order.apply_range(order)).coalesce()
        near = near.intersect(order)
        try:
            return _schedule_domain(scop, _without_domain(scop, order), _without_domain(scop, near))
        except isl().Error:
            # Without its domain, a dependence may have no greatest distance.
            pass
    return _schedule_domain(scop, order, near)


def _without_domain(scop: Scop, pairs: Any) -> Any:
    """Return dependences without the constraints of the iterations: with others, which do not
    exist, isl has fewer constraints, and an order that preserves more."""
    domain = scop.schedule.get_domain()
    return pairs.gist_domain(domain).gist_range(domain)


def _schedule_domain(scop: Scop, order: Any, near: Any) -> Any:
    """Compute a schedule that preserves an order and keeps pairs of iterations near."""
    constraints = (
        isl()
        .ScheduleConstraints.on_domain(scop.schedule.get_domain())
        .set_validity(order)
        .set_coincidence(order)
        .set_proximity(near)
    )
    context = isl().DEFAULT_CONTEXT
    # Large coefficients give poor loops, and take long to find.
    context.set_schedule_max_coefficient(MAX_COEFFICIENT)
    context.set_schedule_max_constant_term(5 * MAX_COEFFICIENT)
    context.set_schedule_serialize_sccs(1)
    return constraints.compute_schedule()


@dataclass(frozen=True)
class _PlanPart:
    """Statements in the same iteration of the loops around them."""

    scop: Scop
    names: tuple[str, ...]
    rows: Mapping[str, Rows]
    """The rows that are not loops yet."""
    shared: int
    outer: Mapping[str, Rows]
    pairs: Any
    """The dependences within one iteration of the outer loops."""
    stays_in_cache: bool
    """Whether all arrays stay in a cache."""


def _plan_nests(
    scop: Scop, nests: Sequence[ScheduledNest], pairs: Any, *, stays_in_cache: bool
) -> Plan:
    parts: list[Plan] = []
    for group in group_nests(scop, nests, pairs):
        names = [name for nest in group for name in nest.rows]
        inner_pairs = _dependences_among(scop, names, pairs)
        together = plan_together(scop, group, inner_pairs) if len(group) > 1 else None
        parts += (
            [_plan_nest(scop, nest, pairs, stays_in_cache) for nest in group]
            if together is None
            else [together]
        )
    return parts[0] if len(parts) == 1 else PlanSequence(tuple(parts))


def _plan_nest(scop: Scop, nest: ScheduledNest, pairs: Any, stays_in_cache: bool) -> Plan:
    names = tuple(nest.rows)
    outer: dict[str, Rows] = dict.fromkeys(names, ())
    inner_pairs = _dependences_among(scop, names, pairs)
    part = _PlanPart(scop, names, nest.rows, nest.shared, outer, inner_pairs, stays_in_cache)
    return _plan_part(part)


def _dependences_among(scop: Scop, names: Sequence[str], pairs: Any) -> Any:
    """Return the dependences among some statements."""
    domain = _domain_of(scop, names)
    return pairs.intersect_domain(domain).intersect_range(domain)


def _plan_part(part: _PlanPart) -> Plan:
    """Plan a sequence of statements, with shared loops around those that cannot be split."""
    cycles = strongly_connected_components(part.names, dependence_edges(part.pairs))
    plans = tuple(_plan_cycle(_restrict_part(part, tuple(cycle))) for cycle in cycles)
    return plans[0] if len(plans) == 1 else PlanSequence(plans)


def _restrict_part(part: _PlanPart, names: tuple[str, ...]) -> _PlanPart:
    pairs = _dependences_among(part.scop, names, part.pairs)
    return replace(part, names=names, pairs=pairs)


def _plan_cycle(part: _PlanPart) -> Plan:
    if len(part.names) == 1:
        (name,) = part.names
        statement = part.scop.find_statement(name)
        outer = part.outer[name]
        rows = remaining_rows(part.rows[name], outer, statement)
        return choose_loops(SingleStatement(part.scop, statement, outer, rows, part.pairs))
    for choice in _shared_loop_choices(part):
        plan = _plan_under_loops(part, choice)
        if plan is not None:
            return plan
    if part.shared >= 1 or all(part.rows[name] for name in part.names):
        plan = _plan_interchanged(part) or _plan_under_loops(part, OUTERMOST_LOOP)
        if plan is not None:
            return plan
    raise NoPlan


SharedLoopChoice = tuple[tuple[int, int], ...]
"""Rows of a band that become shared loops, by position, and the tile sizes."""
OUTERMOST_LOOP: SharedLoopChoice = ((0, 1),)


def _shared_loop_choices(part: _PlanPart) -> Iterator[SharedLoopChoice]:
    """Yield the possible shared loops around statements in a dependence cycle, the best first; if
    all are invalid, they share the outermost loop."""
    shared = min(part.shared, *(len(part.rows[name]) for name in part.names))
    deepest = _deepest_statements(part)
    keeps_registers = any(alone.reuses_elements(row) for alone in deepest for row in alone.rows[1:])
    if part.stays_in_cache and shared > MAX_TILED_LOOPS and not keeps_registers:
        yield tuple((position, 1) for position in range(shared - PLANE_LOOPS))
    elif shared > 1 and (keeps_registers or not part.stays_in_cache):
        for inner in range(shared):
            along = [alone.is_contiguous(alone.rows[inner]) for alone in deepest]
            if sum(along) * 2 > len(along):
                if shared <= MAX_TILED_LOOPS:
                    yield from _tiled_choices(inner, shared, UNROLL_AND_JAM)
                yield tuple((position, 1) for position in range(shared) if position != inner)
        for inner in range(shared):
            if all(alone.reads_contiguously(alone.rows[inner]) for alone in deepest):
                yield from _tiled_choices(inner, shared, INTERLEAVED_REDUCTIONS)


def _tiled_choices(inner: int, shared: int, size: int) -> Iterator[SharedLoopChoice]:
    """Yield all rows but the innermost, one of them tiled."""
    other_levels = [position for position in range(shared) if position != inner]
    for tiled in other_levels:
        yield ((tiled, size), *((position, 1) for position in other_levels if position != tiled))


def _deepest_statements(part: _PlanPart) -> list[SingleStatement]:
    """Return the statements with the deepest loops."""
    statements = [part.scop.find_statement(name) for name in part.names]
    depth = max(len(statement.iterators) for statement in statements)
    return [
        SingleStatement(part.scop, each, part.outer[each.name], part.rows[each.name], None)
        for each in statements
        if len(each.iterators) == depth
    ]


def _plan_under_loops(part: _PlanPart, choice: SharedLoopChoice) -> Plan | None:
    """Return the plan with some shared loops; None if it is invalid or gains nothing."""
    added = {
        name: tuple(part.rows[name][position].floor_divide(size) for position, size in choice)
        for name in part.names
    }
    if not preserves_dependences(part.scop, part.pairs, added, strictly=False):
        return None
    pairs = simultaneous_dependences(part.scop, part.pairs, added)
    fixed = {position for position, size in choice if size == 1}
    inner = _PlanPart(
        part.scop,
        part.names,
        {name: _drop_rows(part.rows[name], fixed) for name in part.names},
        max(part.shared - len(fixed), 0),
        {name: (*part.outer[name], *added[name]) for name in part.names},
        pairs,
        part.stays_in_cache,
    )
    is_last = choice == OUTERMOST_LOOP
    is_separable = is_last or len(
        strongly_connected_components(part.names, dependence_edges(pairs))
    ) == len(part.names)
    body = _plan_part(inner) if is_separable else _plan_independent_first(inner)
    if body is None:
        return None
    rows: list[Mapping[str, Linear]] = [
        {name: added[name][position] for name in part.names} for position in range(len(choice))
    ]
    return SharedLoops(tuple(rows), body)


def _plan_interchanged(part: _PlanPart) -> Plan | None:
    """Return the plan in which the deepest statements share another of their loops instead of the
    outermost one, along which they access contiguous elements: that one is vectorized inside; None
    if it is invalid or cannot be vectorized."""
    moved = [
        alone
        for alone in _deepest_statements(part)
        if len(alone.rows) > 1
        and is_vectorizable(alone.statement)
        and alone.is_contiguous(alone.rows[0])
    ]
    for position in range(1, min((len(alone.rows) for alone in moved), default=1)):
        rows = {alone.statement.name: _move_inwards(alone.rows, position) for alone in moved}
        if not all(
            is_parallel(part.scop, part.pairs, {name: (*part.outer[name], *rows[name])})
            for name in rows
        ):
            continue
        interchanged = replace(part, rows={**part.rows, **rows}, shared=min(part.shared, 1))
        plan = _plan_under_loops(interchanged, OUTERMOST_LOOP)
        if plan is not None and all(_is_vectorized(part, plan, name) for name in rows):
            return plan
    return None


def _move_inwards(rows: Rows, position: int) -> Rows:
    """Return rows with the one at a position first, and the first one last."""
    others = tuple(row for at, row in enumerate(rows) if at not in (0, position))
    return (rows[position], *others, rows[0])


def _is_vectorized(part: _PlanPart, plan: Plan, name: str) -> bool:
    """Whether a statement has an innermost loop of its own, apart from those that are unrolled, and
    accesses contiguous elements along it."""
    statement = part.scop.find_statement(name)
    for loops, outer in collect_statement_loops(plan):
        if loops.statement != name:
            continue
        own = loops.rows[: len(loops.rows) - len(loops.tiles)]
        around = (*part.outer[name], *outer)
        alone = SingleStatement(part.scop, statement, around, loops.rows, None)
        if not own or not alone.is_contiguous(own[-1]):
            return False
    return True


def _plan_independent_first(part: _PlanPart) -> Plan | None:
    """Run the instances of the deepest statement that depend on no other statement in the tile
    before all others; None if there is no such statement, or nothing to interleave.

    In a triangular system, these are the products with the elements that earlier tiles computed.
    """
    deepest = [each.statement.name for each in _deepest_statements(part)]
    if len(deepest) != 1 or len(part.names) < 2:
        return None
    (name,) = deepest
    statement = part.scop.find_statement(name)
    own = isl().UnionSet.from_set(statement.domain)
    others = _domain_of(part.scop, [each for each in part.names if each != name])
    late = part.pairs.intersect_domain(others).range().intersect(own)
    if not late.apply(part.pairs).intersect(own).is_subset(late):
        return None
    early = own.subtract(late)
    if late.is_empty() or early.is_empty():
        return None
    first = _restrict_part(_with_instances(part, statement, early), (name,))
    loops = _plan_cycle(first)
    if not isinstance(loops, StatementLoops) or not loops.tiles:
        return None
    rest = _restrict_part(_with_instances(part, statement, late), part.names)
    body = _plan_under_loops(rest, ((0, 1),))
    return None if body is None else PlanSequence((loops, body))


def _with_instances(part: _PlanPart, statement: ModelStatement, instances: Any) -> _PlanPart:
    """Return the part with only some of the instances of a statement."""
    changed = replace(statement, domain=isl().Set.from_union_set(instances))
    statements = tuple(changed if each is statement else each for each in part.scop.statements)
    return replace(part, scop=replace(part.scop, statements=statements))


def _domain_of(scop: Scop, names: Sequence[str]) -> Any:
    domain = isl().UnionSet(f"{scop.prefix}{{ }}")
    for name in names:
        domain = domain.union(isl().UnionSet.from_set(scop.find_statement(name).domain))
    return domain


def _drop_rows(rows: Rows, positions: set[int]) -> Rows:
    return tuple(row for position, row in enumerate(rows) if position not in positions)
