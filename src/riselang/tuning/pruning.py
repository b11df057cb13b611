"""Which strategies need not be compiled: they perform too many operations to be the fastest.

A program takes at least the time of its operations at the highest rate of the machine. The bytes of
its inputs and results give no such bound on a strategy: they are the same for all strategies, and
those of intermediate arrays may stay in a cache.
"""

from __future__ import annotations

from riselang.api.lowered import Lowered
from riselang.lowering.least_operations import least_operations
from riselang.support import config
from riselang.term.work import source_work
from riselang.tuning.peaks import operations_per_second

PEAK_MARGIN = 2.0
"""The rate is that of multiply-adds. Some CPUs perform additions at the same time, in other units,
which makes 1.5 times as many operations; and another process may disturb the measurement."""
REPETITIONS, REPEATS = 15, 100_000


def peak_rate() -> float:
    """Return a number of operations on f32 per second that no program on this machine exceeds."""
    rate = operations_per_second(REPETITIONS, REPEATS)
    return PEAK_MARGIN * rate * max(1, config.num_threads())


def excess_operations(lowered: Lowered, most: float) -> str:
    """Return the reason why a program performs more than a number of operations, or ""."""
    # The operations of the rewritten term take little time to count, but the compiler may do less.
    if not _may_exceed(lowered, most):
        return ""
    least = least_operations(lowered.compilation.loops, lowered.name)
    if least <= most:
        return ""
    return (
        f"it performs at least {least:.4g} operations, but this machine performs at most "
        f"{most:.4g} in the time of the fastest strategy"
    )


def _may_exceed(lowered: Lowered, most: float) -> bool:
    # An f64 counts as two operations on f32.
    operations = source_work(lowered.term).operations
    return isinstance(operations, int) and 2 * operations > most
