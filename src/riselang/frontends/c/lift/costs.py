"""What the ways to compute something take: an estimate in cycles.

A way reaches a share of what the processor can compute, and of what memory delivers, and takes
something to begin with and to copy its result. The slower of computing and memory decides: where
each element is used once, it is memory that everybody waits for, and a library gains little. The
shares are measured on a Neoverse N1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from riselang.frontends.c.tactics.matching import Factor
from riselang.support.machine import this_machine

UNKNOWN_LENGTH = 1000
"""What a loop counts as whose length is not a number."""
PER_CYCLE = 2
"""Products of vectors in a cycle."""
BYTES_PER_CYCLE = 8


@dataclass(frozen=True)
class Way:
    """How something may be computed, and how well that goes."""

    name: str
    computing: float
    """The share of the products that a processor can compute."""
    memory: float
    """The share of what memory delivers."""
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
# A sum on its own waits for itself, however wide vectors are.
SUM_LOOPS = replace(LOOPS, computing=0.18, is_vectorized=False)
# Windows that move over an array: loops of vectors have loads that are not aligned.
WINDOW_LOOPS = replace(LOOPS, computing=0.28)
WINDOW_PATTERNS = replace(PATTERNS, computing=0.36)
# What does not lie side by side is computed one by one in loops.
STRIDED_LOOPS = replace(LOOPS, computing=0.04, is_vectorized=False)


@dataclass(frozen=True)
class Work:
    """How much is to be done."""

    products: int
    elements: int
    """Of all arrays together."""
    results: int
    bytes: int
    """Of an element."""

    def cycles(self, way: Way) -> float:
        lanes = this_machine().lanes(self.bytes) if way.is_vectorized else 1
        computing = self.products / (PER_CYCLE * lanes * way.computing)
        bandwidth = BYTES_PER_CYCLE * way.memory / self.bytes
        copying = 2 * way.passes * self.results / bandwidth
        return max(computing, self.elements / bandwidth) + copying + way.start


def work_of(
    loops: Sequence[str], factors: Sequence[Factor], lengths: Mapping[str, int], bytes: int
) -> Work:
    """The work of loops over products of elements; the first factor is the target."""
    return work_along(loops, [factor.loops for factor in factors], lengths, bytes)


def work_along(
    loops: Sequence[str],
    arrays: Sequence[Sequence[str]],
    lengths: Mapping[str, int],
    bytes: int,
) -> Work:
    """The work of loops, for arrays that each run along some of them; the first is the target."""

    def length(loop: str) -> int:
        return lengths.get(loop, UNKNOWN_LENGTH)

    sizes = [prod(map(length, along)) for along in arrays]
    return Work(prod(map(length, loops)), sum(sizes), sizes[0], bytes)


def best(work: Work, ways: Sequence[Way]) -> Way:
    """The way that takes the fewest cycles."""
    return min(ways, key=work.cycles)
