"""Loops for the instances of a region: in source order, or in another order that isl finds.

isl's scheduler looks for an order that preserves every dependence, improves locality, and groups
permutable loops into bands, which are tiled. The result is bitwise identical, since every value is
computed from the same values by the same operations. The loops that isl generates are proved
correct before they are used (`schedule_validation.py`); if that takes too long, their data flow is
compared with that of the source order at several sizes (`replay.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.dependences import ParallelLoops, dependences
from riselang.frontends.c.model.isl_text import LOOP_NAMES, isl, within_limits
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.schedule.planning import arranged
from riselang.frontends.c.schedule.replay import agree
from riselang.frontends.c.schedule.schedule_validation import is_faithful

MOST_OPERATIONS = 3_000_000
"""The limit on isl operations; beyond it, the source order is used."""
MOST_FOR_PROOF = 400_000
"""The limit on isl operations to prove loops correct."""
SOURCE, ISL, PATTERNS = "source", "isl", "patterns"
SCHEDULES = (SOURCE, ISL, PATTERNS)
"""The source order, or one that isl finds; or the latter, with every lifted statement as a separate
program."""


@dataclass(frozen=True)
class Order:
    """isl's AST of loops for a region; None if there is nothing to do."""

    tree: Any
    reason: str = ""
    """Why the source order is used, if another was requested."""


def loops(scop: Scop, schedule: str) -> Any:
    """Return isl's AST of loops for a region; None if there is nothing to do."""
    return order(scop, schedule).tree


def order(scop: Scop, schedule: str) -> Order:
    """Generate the loops of a region.

    The source order is used if isl finds no other order within its limit, or if the loops for it
    are not proved correct.
    """
    if scop.schedule is None:
        return Order(None)
    source = _of_text(scop)
    if dependences(scop) is None:
        return Order(source, "isl takes too long to find its dependences")
    # A proof may take too long, but is never wrong.
    if within_limits(lambda: is_faithful(scop, source), MOST_FOR_PROOF) is False:
        raise Refusal(scop.place, "the loops that isl generates for this region do not match it")
    if schedule == SOURCE:
        return Order(source)
    found = within_limits(lambda: (_other(scop),), MOST_OPERATIONS)
    if found is None:
        return Order(source, f"the search for another took more than {MOST_OPERATIONS} operations")
    (other,) = found
    if other is None:
        return Order(source, "isl finds no other that preserves all dependences")
    is_right = agree(scop, source, other) and (
        within_limits(lambda: is_faithful(scop, other), MOST_FOR_PROOF) is not False
    )
    return Order(other) if is_right else Order(source, "isl's loops for another are not proved")


def _of_text(scop: Scop) -> Any:
    """Generate loops in source order, with parallel ones marked if isl stays within its limit."""
    for is_marked in (True, False):
        try:
            return _generated(scop, scop.schedule, is_marked=is_marked)
        except isl().Error:
            continue
    raise Refusal(
        scop.place, "isl generates no loops for this region", "simplify its bounds and conditions"
    )


def _other(scop: Scop) -> Any:
    found = found_schedule(scop)
    return None if found is None else _generated(scop, found)


def _generated(scop: Scop, schedule: Any, *, is_marked: bool = True) -> Any:
    names = isl().IdList.alloc(isl().DEFAULT_CONTEXT, 0)
    for name in LOOP_NAMES:
        names = names.add(isl().Id(name))
    build = isl().AstBuild.from_context(isl().Set(f"{scop.prefix}{{ : }}")).set_iterators(names)
    pairs = dependences(scop) if is_marked else None
    if pairs is not None:
        build, _ = build.set_before_each_for(ParallelLoops(pairs).mark)
    return build.node_from_schedule(schedule)


def found_schedule(scop: Scop) -> Any:
    """Return the optimized schedule; None if none is found."""
    pairs = dependences(scop)
    return None if pairs is None else arranged(scop, pairs)
