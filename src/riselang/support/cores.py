"""The number of CPU cores that this process may use."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

CPU_FOLDER = Path("/sys/devices/system/cpu")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The CPU quota of a container: microseconds of CPU time, and the period in microseconds."""


@cache
def separate_cpus() -> tuple[int, ...]:
    """Return the number of one CPU of each core that this process may use; none if unknown."""
    if not hasattr(os, "sched_getaffinity"):  # macOS and Windows
        return ()
    return tuple({_core_of(cpu): cpu for cpu in sorted(os.sched_getaffinity(0))}.values())


@cache
def available_cores() -> int:
    """Return the number of cores that this process may use.

    Hardware threads of one core count once, since they share its arithmetic units. A container's
    CPU quota limits the number, since the system would throttle more threads.
    """
    try:
        cores = len({_core_of(processor) for processor in os.sched_getaffinity(0)})
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    return max(1, min(cores, _cpu_quota() or cores))


def _core_of(cpu: int) -> str:
    """Return the list of hardware threads that share a core with this one."""
    topology = CPU_FOLDER / f"cpu{cpu}" / "topology"
    try:
        return (topology / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _cpu_quota() -> int | None:
    """Return a container's CPU quota in cores, rounded up."""
    try:
        quota, period = CPU_QUOTA.read_text().split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError):  # "max" if there is no limit
        return None
