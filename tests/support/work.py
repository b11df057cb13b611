"""Checks that rewriting and lowering do not increase the work of a program."""

from __future__ import annotations

from riselang.api.lowered import Lowered
from riselang.rewrite.extra_work import added_work
from riselang.support.errors import InternalError
from riselang.term.work import Work

WORK_LIMIT = 1.05
"""How many times the work of the source the work of the loops may be."""


def check_work(name: str, source: Work, loops: Work, limit: float = WORK_LIMIT) -> None:
    """Raise an internal error if the loops do much more than the source program."""
    assert isinstance(source.total, int)
    assert isinstance(loops.total, int)
    if loops.total > limit * source.total:
        raise InternalError(
            f"{name}: expected at most {limit} times the work of the source ({source}), "
            f"but the loops perform {loops}; store what they compute repeatedly"
        )


def check_lowered_work(lowered: Lowered, limit: float = WORK_LIMIT) -> None:
    """Check the work of a program; rules may add the work that their laws state."""
    costs = lowered.cost_analysis()
    assert costs.work is not None
    assert costs.optimized_work is not None
    source = costs.work + added_work(lowered.derivation)
    check_work(lowered.name, source, costs.optimized_work, limit)
