"""Loops for the instances of a region: in the order of the text, or in another that isl finds.

isl's scheduler looks for an order that keeps every dependence, brings uses close to what they use,
and puts loops that may change places together; those are tiled. The result is the same bit by bit,
since every value is computed from the same values in the same way. What isl makes is proven to be
right before it is taken (`validation.py`), and where that takes too long, its data flow is compared
with that of the text at several sizes (`replay.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.frontends.c.affine import LOOP_NAMES, isl, within_limits
from riselang.frontends.c.dependences import ParallelLoops, dependences
from riselang.frontends.c.model import Scop
from riselang.frontends.c.refusal import Refusal
from riselang.frontends.c.replay import agree
from riselang.frontends.c.validation import is_faithful

TILE_SIZE = 32
MOST_OPERATIONS = 300_000
"""How much isl may do before the order of the text is kept."""
LARGEST_FACTOR = 4
SCHEDULES = ("source", "isl")
"""The order of the text, or one that isl finds."""


def loops(scop: Scop, schedule: str) -> Any:
    """isl's tree of loops for a region; None where nothing is to be done.

    Where isl finds no other order in time, or loops for it that are not proven right, the order of
    the text stays.
    """
    if scop.schedule is None:
        return None
    source = _generated(scop, scop.schedule)
    if dependences(scop) is None:
        return source
    # A proof may take too long, but is never wrong.
    if _within_limits(lambda: is_faithful(scop, source)) is False:
        raise Refusal(scop.place, "the loops that isl makes of this region are not its own")
    if schedule == "source":
        return source
    other = _within_limits(lambda: _generated(scop, found_schedule(scop)))
    if other is None or not agree(scop, source, other):
        return source
    return source if _within_limits(lambda: is_faithful(scop, other)) is False else other


def _generated(scop: Scop, schedule: Any) -> Any:
    names = isl().IdList.alloc(isl().DEFAULT_CONTEXT, 0)
    for name in LOOP_NAMES:
        names = names.add(isl().Id(name))
    build = isl().AstBuild.from_context(isl().Set(f"{scop.prefix}{{ : }}")).set_iterators(names)
    pairs = dependences(scop)
    if pairs is not None:
        build, _ = build.set_before_each_for(ParallelLoops(pairs).mark)
    return build.node_from_schedule(schedule)


def _within_limits(action: Callable[[], Any]) -> Any:
    """What an action gives; None where isl takes too long."""
    return within_limits(action, MOST_OPERATIONS)


def found_schedule(scop: Scop) -> Any:
    """The order that isl finds."""
    pairs = dependences(scop)
    if pairs is None:
        return scop.schedule
    constraints = (
        isl()
        .ScheduleConstraints.on_domain(scop.schedule.get_domain())
        .set_validity(pairs.all)
        .set_coincidence(pairs.all)
        .set_proximity(pairs.flow.union(pairs.anti))
    )
    context = isl().DEFAULT_CONTEXT
    # Large factors make loops that nobody wants, and take long to find.
    context.set_schedule_max_coefficient(LARGEST_FACTOR)
    context.set_schedule_max_constant_term(5 * LARGEST_FACTOR)
    schedule = constraints.compute_schedule()
    return schedule.map_schedule_node_bottom_up(_tiled)


def _tiled(node: Any) -> Any:
    """A band of loops that may change places, in tiles."""
    if node.get_type() != isl().schedule_node_type.band:
        return node
    count = node.band_n_member()
    if count < 2 or not node.band_get_permutable():
        return node
    sizes = isl().MultiVal.zero(node.band_get_space())
    for position in range(count):
        sizes = sizes.set_val(position, isl().Val(TILE_SIZE))
    return node.band_tile(sizes)
