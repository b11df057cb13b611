"""A cost model: the estimated cycles of each implementation.

An implementation reaches a fraction of the CPU's peak performance and of the memory bandwidth, and
has start-up costs and copies of its result. The slower of compute and memory counts: if each
element is used once, everything is memory-bound, and a library gains little. The fractions are
measured on a Neoverse N1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from riselang.frontends.c.tactics.matching import Factor
from riselang.support.machine import this_machine

UNKNOWN_LENGTH = 1000
"""The assumed length of a loop whose length is not a constant."""
PER_CYCLE = 2
"""Vector multiply-adds per cycle."""
BYTES_PER_CYCLE = 8


@dataclass(frozen=True)
class Way:
    """A possible implementation, and its efficiency."""

    name: str
    computing: float
    """The fraction of the CPU's peak performance."""
    memory: float
    """The fraction of the memory bandwidth."""
    start: float
    """Cycles before anything is computed."""
    passes: int = 0
    """How often the result is written and read once more."""
    is_vectorized: bool = True
    """Whether wider vectors compute more."""


LOOPS = Way("loops", 0.55, 0.8, 0.0)
PATTERNS = Way("patterns", 0.95, 1.0, 50_000.0, 1)
CALL = Way("call", 1.0, 0.9, 2_000.0)
VECTOR_CALL = replace(CALL, start=300.0)
# A single reduction is bound by its latency, however wide vectors are.
SUM_LOOPS = replace(LOOPS, computing=0.18, is_vectorized=False)
# Sliding windows: vectorized loops have unaligned loads.
WINDOW_LOOPS = replace(LOOPS, computing=0.28)
WINDOW_PATTERNS = replace(PATTERNS, computing=0.36)
# Elements that are not contiguous are computed one at a time in loops.
STRIDED_LOOPS = replace(LOOPS, computing=0.04, is_vectorized=False)


@dataclass(frozen=True)
class Work:
    """The amount of computation and memory traffic."""

    products: int
    elements: int
    """The number of elements of all arrays together."""
    results: int
    bytes: int
    """The size of an element."""

    def cycles(self, way: Way) -> float:
        lanes = this_machine().lanes(self.bytes) if way.is_vectorized else 1
        computing = self.products / (PER_CYCLE * lanes * way.computing)
        bandwidth = BYTES_PER_CYCLE * way.memory / self.bytes
        copying = 2 * way.passes * self.results / bandwidth
        return max(computing, self.elements / bandwidth) + copying + way.start


def work_of(
    loops: Sequence[str], factors: Sequence[Factor], lengths: Mapping[str, int], bytes: int
) -> Work:
    """Return the work of loops over products of elements; the first factor is the target."""
    return work_along(loops, [factor.loops for factor in factors], lengths, bytes)


def work_along(
    loops: Sequence[str],
    arrays: Sequence[Sequence[str]],
    lengths: Mapping[str, int],
    bytes: int,
) -> Work:
    """Return the work of loops, for arrays indexed by some of them; the first is the target."""

    def length(loop: str) -> int:
        return lengths.get(loop, UNKNOWN_LENGTH)

    sizes = [prod(map(length, along)) for along in arrays]
    return Work(prod(map(length, loops)), sum(sizes), sizes[0], bytes)


def best(work: Work, ways: Sequence[Way]) -> Way:
    """Return the implementation with the fewest cycles."""
    return min(ways, key=work.cycles)
