"""Loops for the instances of a region: in source order, or in another order that isl finds.

isl's scheduler looks for an order that preserves every dependence, improves locality, and groups
permutable loops into bands, which are tiled. The result is bitwise identical, since every value is
computed from the same values by the same operations. The loops that isl generates are proved
correct before they are used (`schedule_validation.py`); if that takes too long, their data flow is
compared with that of the source order at several sizes (`replay.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from riselang.frontends.c.emit.isl_ast import parallel_depth
from riselang.frontends.c.model.dependences import (
    ParallelLoopMarker,
    PrivatizingLoopMarker,
    dependences,
)
from riselang.frontends.c.model.isl_text import LOOP_NAMES, isl, within_limits
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.schedule.planning import outer_parallel_schedule, plan_schedules
from riselang.frontends.c.schedule.replay import has_same_data_flow
from riselang.frontends.c.schedule.schedule_validation import is_faithful
from riselang.frontends.c.schedule.user_schedules import is_schedule_text, read_schedule

MAX_OPERATIONS = 3_000_000
"""The limit on isl operations; beyond it, the source order is used."""
MAX_GPU_OPERATIONS = 400_000
"""The limit on isl operations for a GPU, for which the source order mostly has as many independent
iterations."""
MAX_PROOF_OPERATIONS = 400_000
"""The limit on isl operations to prove loops correct."""
SOURCE, ISL, PATTERNS = "source", "isl", "patterns"
SCHEDULES = (SOURCE, ISL, PATTERNS)
"""The source order, or one that isl finds; or the latter, with every lifted statement as a separate
program."""


@dataclass(frozen=True)
class LoopOrder:
    """isl's AST of loops for a region; None if there is nothing to do."""

    tree: Any
    reason: str = ""
    """Why the source order is used, if another was requested."""


def loop_ast(scop: Scop, schedule: str, *, unrolls: bool = True) -> Any:
    """Return isl's AST of loops for a region; None if there is nothing to do."""
    return choose_order(scop, schedule, unrolls=unrolls).tree


def choose_order(scop: Scop, schedule: str, *, unrolls: bool = True) -> LoopOrder:
    """Generate the loops of a region; tiles of unroll and jam are loops if it does not unroll.

    The source order is used if isl finds no other order within its limit, or if the loops for it
    are not proved correct.
    """
    if scop.schedule is None:
        return LoopOrder(None)
    source = _source_order_loops(scop)
    if dependences(scop) is None:
        return LoopOrder(source, "isl takes too long to find its dependences")
    # A proof may take too long, but is never wrong.
    if within_limits(lambda: is_faithful(scop, source), MAX_PROOF_OPERATIONS) is False:
        raise UnsupportedConstruct(
            scop.location, "the loops that isl generates for this region do not match it"
        )
    if schedule == SOURCE:
        return LoopOrder(source)
    if is_schedule_text(schedule):
        return LoopOrder(_user_loops(scop, source, schedule))
    candidates = within_limits(lambda: _optimized_loops(scop, unrolls=unrolls), MAX_OPERATIONS)
    if candidates is None:
        return LoopOrder(
            source, f"the search for another took more than {MAX_OPERATIONS} operations"
        )
    if not candidates:
        return LoopOrder(source, "isl finds no other that preserves all dependences")
    *with_versions, optimized = candidates
    for tree in with_versions:
        # Only one of its versions can be tried: the other is for larger sizes.
        if within_limits(partial(is_faithful, scop, tree), MAX_PROOF_OPERATIONS):
            return LoopOrder(tree)
    is_proved = _is_proved(scop, source, optimized)
    if not is_proved and scop.context:
        # The sizes that the user promises are too large to try them; other sizes may be small.
        return choose_order(replace(scop, context=""), schedule, unrolls=unrolls)
    return (
        LoopOrder(optimized)
        if is_proved
        else LoopOrder(source, "isl's loops for another are not proved")
    )


def gpu_loops(scop: Scop) -> Any:
    """Return loops with as many independent iterations as possible around each statement: those of
    isl's schedule with independent outermost loops, or those in source order."""
    source = loop_ast(scop, SOURCE)
    pairs = dependences(scop)
    if scop.schedule is None or pairs is None:
        return source
    marked = within_limits(
        lambda: (_generate_ast(scop, scop.schedule, PrivatizingLoopMarker(scop)),),
        MAX_GPU_OPERATIONS,
    )
    source = source if marked is None else marked[0]
    result = within_limits(
        lambda: (_generate_ast(scop, outer_parallel_schedule(scop, pairs)),), MAX_GPU_OPERATIONS
    )
    if result is None or parallel_depth(result[0]) <= parallel_depth(source):
        return source
    (found,) = result
    return found if _is_proved(scop, source, found) else source


def _is_proved(scop: Scop, source: Any, tree: Any) -> bool:
    """Whether loops do the same as those in source order: proved, or tried at several sizes."""
    is_same = has_same_data_flow(scop, source, tree)
    if is_same is False:
        return False
    proof = within_limits(lambda: is_faithful(scop, tree), MAX_PROOF_OPERATIONS)
    return proof is True or (proof is None and is_same is True)


def _source_order_loops(scop: Scop) -> Any:
    """Generate loops in source order, with parallel ones marked if isl stays within its limit."""
    for is_marked in (True, False):
        try:
            return _generate_ast(scop, scop.schedule, is_marked=is_marked)
        except isl().Error:
            continue
    raise UnsupportedConstruct(
        scop.location,
        "isl generates no loops for this region",
        "simplify its bounds and conditions",
    )


def _user_loops(scop: Scop, source: Any, text: str) -> Any:
    """Generate the loops of a schedule that the user wrote, and prove them."""
    tree = _generate_ast(scop, read_schedule(scop, text))
    if not _is_proved(scop, source, tree):
        raise UnsupportedConstruct(
            scop.location, "the loops that isl generates for the schedule are not proved",
            "use another schedule",
        )  # fmt: skip
    return tree


def _optimized_loops(scop: Scop, *, unrolls: bool) -> list[Any]:
    schedules = find_schedules(scop)
    if not unrolls:
        schedules = [each.map_schedule_node_bottom_up(_remove_options) for each in schedules]
    return [_generate_ast(scop, each) for each in schedules]


def _remove_options(node: Any) -> Any:
    if node.get_type() != isl().schedule_node_type.band:
        return node
    return node.band_set_ast_build_options(isl().UnionSet("{ }"))


def _generate_ast(
    scop: Scop,
    schedule: Any,
    marker: ParallelLoopMarker | None = None,
    *,
    is_marked: bool = True,
) -> Any:
    names = isl().IdList.alloc(isl().DEFAULT_CONTEXT, 0)
    for name in LOOP_NAMES:
        names = names.add(isl().Id(name))
    build = isl().AstBuild.from_context(scop.context_set).set_iterators(names)
    pairs = dependences(scop) if is_marked else None
    if pairs is not None:
        marker = marker or ParallelLoopMarker(pairs)
        build, _ = build.set_before_each_for(marker.mark)
    return build.node_from_schedule(schedule)


def find_schedules(scop: Scop) -> list[Any]:
    """Return optimized schedules, the best first; the last has no versions for some sizes."""
    pairs = dependences(scop)
    return [] if pairs is None else plan_schedules(scop, pairs)
