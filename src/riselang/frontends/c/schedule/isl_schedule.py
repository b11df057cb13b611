"""Loops for the instances of a region: in the order of the text, or in another that isl finds.

isl's scheduler looks for an order that keeps every dependence, brings uses close to what they use,
and puts loops that may change places together; those are tiled. The result is the same bit by bit,
since every value is computed from the same values in the same way. What isl makes is proven to be
right before it is taken (`validation.py`), and where that takes too long, its data flow is compared
with that of the text at several sizes (`replay.py`).
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
"""How much isl may do before the order of the text is kept."""
MOST_FOR_PROOF = 400_000
"""How much isl may do to prove that loops are right."""
SOURCE, ISL, PATTERNS = "source", "isl", "patterns"
SCHEDULES = (SOURCE, ISL, PATTERNS)
"""The order of the text, or one that isl finds; or that, with every statement that is lifted as a
program of its own."""


@dataclass(frozen=True)
class Order:
    """isl's tree of loops for a region; None where nothing is to be done."""

    tree: Any
    reason: str = ""
    """Why the order of the text stays, where another was looked for."""


def loops(scop: Scop, schedule: str) -> Any:
    """isl's tree of loops for a region; None where nothing is to be done."""
    return order(scop, schedule).tree


def order(scop: Scop, schedule: str) -> Order:
    """Loops for a region.

    Where isl finds no other order in time, or loops for it that are not proven right, the order of
    the text stays.
    """
    if scop.schedule is None:
        return Order(None)
    source = _of_text(scop)
    if dependences(scop) is None:
        return Order(source, "isl takes too long to find its dependences")
    # A proof may take too long, but is never wrong.
    if within_limits(lambda: is_faithful(scop, source), MOST_FOR_PROOF) is False:
        raise Refusal(scop.place, "the loops that isl makes of this region are not its own")
    if schedule == SOURCE:
        return Order(source)
    found = within_limits(lambda: (_other(scop),), MOST_OPERATIONS)
    if found is None:
        return Order(source, f"the search for another took more than {MOST_OPERATIONS} operations")
    (other,) = found
    if other is None:
        return Order(source, "isl finds no other that keeps all dependences")
    is_right = agree(scop, source, other) and (
        within_limits(lambda: is_faithful(scop, other), MOST_FOR_PROOF) is not False
    )
    return Order(other) if is_right else Order(source, "isl's loops for another are not proven")


def _of_text(scop: Scop) -> Any:
    """Loops in the order of the text, with parallel ones marked if isl gets to that."""
    for is_marked in (True, False):
        try:
            return _generated(scop, scop.schedule, is_marked=is_marked)
        except isl().Error:
            continue
    raise Refusal(
        scop.place, "isl makes no loops of this region", "write its bounds and conditions simpler"
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
    """The order that suits the machine; None where none is found."""
    pairs = dependences(scop)
    return None if pairs is None else arranged(scop, pairs)
