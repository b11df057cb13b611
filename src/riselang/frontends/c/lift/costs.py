"""A cost model: the estimated cycles of each implementation.

An implementation reaches a fraction of the CPU's peak performance and of the memory bandwidth; it
may also have start-up costs and copy its result. Whichever of computation and memory traffic takes
longer determines the cost: if each element is used once, every implementation is memory-bound, and
a library call gains little. The fractions were measured on a Neoverse N1, and the start of patterns
on an AMD Zen 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from riselang.frontends.c.tactics.matching import Factor
from riselang.support.machine import this_machine

UNKNOWN_LENGTH = 1000
"""The assumed length of a loop whose length is not a constant."""


@dataclass(frozen=True)
class Implementation:
    """A possible implementation, and its efficiency."""

    name: str
    compute_fraction: float
    """The fraction of the CPU's peak performance."""
    bandwidth_fraction: float
    """The fraction of the memory bandwidth."""
    startup_cycles: float
    """Cycles before anything is computed."""
    extra_passes: int = 0
    """How often the result is written and read once more."""
    is_vectorized: bool = True
    """Whether wider vectors make it faster."""


LOOP_CODE = Implementation("loops", 0.55, 0.8, 0.0)
PATTERN_CODE = Implementation("patterns", 0.95, 1.0, 400_000.0, 1)
LIBRARY_CALL = Implementation("a library call", 1.0, 0.9, 2_000.0)
VECTOR_CALL = replace(LIBRARY_CALL, startup_cycles=300.0)
# A single reduction is bound by its latency, however wide vectors are.
SUM_LOOPS = replace(LOOP_CODE, compute_fraction=0.18, is_vectorized=False)
# Sliding windows: vectorized loops have unaligned loads.
WINDOW_LOOPS = replace(LOOP_CODE, compute_fraction=0.28)
WINDOW_PATTERNS = replace(PATTERN_CODE, compute_fraction=0.36)
# Elements that are not contiguous are computed one at a time in loops.
STRIDED_LOOPS = replace(LOOP_CODE, compute_fraction=0.04, is_vectorized=False)


@dataclass(frozen=True)
class Workload:
    """The amount of computation and memory traffic."""

    products: int
    elements: int
    """The number of elements of all arrays together."""
    results: int
    bytes: int
    """The size of an element."""

    def estimate_cycles(self, implementation: Implementation) -> float:
        machine = this_machine()
        lanes = machine.lanes(self.bytes) if implementation.is_vectorized else 1
        computing = self.products / (
            machine.vector_fmas_per_cycle * lanes * implementation.compute_fraction
        )
        bandwidth = machine.bytes_per_cycle * implementation.bandwidth_fraction / self.bytes
        copying = 2 * implementation.extra_passes * self.results / bandwidth
        return max(computing, self.elements / bandwidth) + copying + implementation.startup_cycles


def product_workload(
    loops: Sequence[str], factors: Sequence[Factor], lengths: Mapping[str, int], bytes: int
) -> Workload:
    """Return the work of loops over products of elements; the first factor is the target."""
    return loop_workload(loops, [factor.loops for factor in factors], lengths, bytes)


def loop_workload(
    loops: Sequence[str],
    arrays: Sequence[Sequence[str]],
    lengths: Mapping[str, int],
    bytes: int,
) -> Workload:
    """Return the work of loops, for arrays indexed by some of them; the first is the target."""

    def length(loop: str) -> int:
        return lengths.get(loop, UNKNOWN_LENGTH)

    sizes = [prod(map(length, along)) for along in arrays]
    return Workload(prod(map(length, loops)), sum(sizes), sizes[0], bytes)


def cheapest(work: Workload, implementations: Sequence[Implementation]) -> Implementation:
    """Return the implementation with the fewest cycles."""
    return min(implementations, key=work.estimate_cycles)
