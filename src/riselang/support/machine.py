"""What strategies ask of the machine: how long vectors are, how many fit, how large caches are.

What a program computes never depends on it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

PROCESSORS = Path("/sys/devices/system/cpu")
CACHES = PROCESSORS / "cpu0" / "cache"
GRANTED = Path("/sys/fs/cgroup/cpu.max")
"""Microseconds of processors that a container may take, and in how many."""
MEMORY = Path("/proc/meminfo")
GRANTED_MEMORY = Path("/sys/fs/cgroup/memory.max")
"""Bytes that a container may take."""
MOST_MEMORY = 1 << 46
"""Bytes, where the system does not tell: 64 TiB."""
COMMON_CACHES = {1: 32 << 10, 2: 1 << 20, 3: 8 << 20}
"""Sizes in bytes by level, where the system does not tell."""


@dataclass(frozen=True)
class Machine:
    """A processor, as far as it decides how loops are best arranged."""

    vector_bytes: int = 16
    registers: int = 16
    """For vectors."""
    multiplies_by_lanes: bool = False
    """Whether a vector is multiplied by one lane of another at no cost."""
    caches: tuple[tuple[int, int], ...] = field(default=tuple(COMMON_CACHES.items()))
    """Levels, and bytes that one core has at each."""
    cores: int = 1

    def lanes(self, bytes: int) -> int:
        """How many elements of so many bytes a vector has."""
        return max(1, self.vector_bytes // bytes)

    def cache(self, level: int) -> int:
        return dict(self.caches).get(level, COMMON_CACHES[level])


def this_machine() -> Machine:
    """The machine that code is arranged for: the one this runs on, or the one assumed."""
    return _assumed[-1] if _assumed else _host()


@contextmanager
def assume_machine(machine: Machine) -> Generator[None]:
    """Arrange code for another machine; what it computes is the same."""
    _assumed.append(machine)
    try:
        yield
    finally:
        _assumed.pop()


_assumed: list[Machine] = []


@cache
def _host() -> Machine:
    """The machine that this runs on; one that any has a part of, where it is not known."""
    caches = tuple(sorted({**COMMON_CACHES, **_caches()}.items()))
    cores = available_cores()
    if platform.machine().lower() in ("aarch64", "arm64"):
        return Machine(16, 32, multiplies_by_lanes=True, caches=caches, cores=cores)
    if _has("AVX512F"):
        return Machine(64, 32, caches=caches, cores=cores)
    return Machine(32 if _has("AVX2") else 16, 16, caches=caches, cores=cores)


@cache
def available_cores() -> int:
    """The cores that this process may use.

    Two processors may be one core, which does no more arithmetic for two threads than for one. More
    threads than a container is granted would be stopped in turns.
    """
    try:
        cores = len({_core_of(processor) for processor in os.sched_getaffinity(0)})
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    return max(1, min(cores, _granted() or cores))


def _core_of(processor: int) -> str:
    """The processors of the core that a processor is of."""
    topology = PROCESSORS / f"cpu{processor}" / "topology"
    try:
        return (topology / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def _granted() -> int | None:
    """How many cores a container is granted; the last may be a part of one."""
    try:
        quota, period = GRANTED.read_text().split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError):  # where there is no limit, it is "max"
        return None


@cache
def total_memory() -> int:
    """The bytes that this process could have at most, memory and swap together.

    Systems promise more than they have, and end the process that makes use of it.
    """
    try:
        lines = (line.split() for line in MEMORY.read_text().splitlines())
        sizes = {words[0]: int(words[1]) << 10 for words in lines if len(words) > 1}
        found = sizes["MemTotal:"] + sizes.get("SwapTotal:", 0)
    except (OSError, ValueError, KeyError):
        try:
            found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            found = MOST_MEMORY
    try:
        return min(found, int(GRANTED_MEMORY.read_text()))
    except (OSError, ValueError):  # where there is no limit, it is "max"
        return found


def _has(feature: str) -> bool:
    """Whether numpy, which asks the processor itself, found it to have a feature."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return bool(features[feature])


def _caches() -> dict[int, int]:
    """The sizes of the caches for data that the system tells of, by level."""
    found: dict[int, int] = {}
    try:
        for folder in CACHES.glob("index*"):
            kind = (folder / "type").read_text().strip()
            size = (folder / "size").read_text().strip()
            if kind != "Instruction" and size.endswith("K") and size[:-1].isdecimal():
                found[int((folder / "level").read_text())] = int(size[:-1]) << 10
    except (OSError, ValueError):
        return {}
    return found
