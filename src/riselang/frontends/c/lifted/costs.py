"""What the ways to compute sums of products take: an estimate in cycles.

A way reaches a share of what the processor can compute, and of what memory delivers, and takes
something to begin with. The slower of computing and memory decides. That is why a library does not
pay where each element is used once: it is memory that everybody waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from riselang.frontends.c.tactics.matching import Factor
from riselang.machine import this_machine

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


LOOPS = Way("loops", 0.55, 1.0, 0.0)
PATTERNS = Way("patterns", 0.95, 1.0, 50_000.0, 1)
CALL = Way("call", 1.0, 0.85, 2_000.0)


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
        lanes = this_machine().lanes(self.bytes)
        computing = self.products / (PER_CYCLE * lanes * way.computing)
        moved = (self.elements + 2 * way.passes * self.results) * self.bytes
        memory = moved / (BYTES_PER_CYCLE * way.memory)
        return max(computing, memory) + way.start


def work_of(
    loops: Sequence[str], factors: Sequence[Factor], lengths: Mapping[str, int], bytes: int
) -> Work:
    """The work of loops over products of elements; the first factor is the target."""

    def length(loop: str) -> int:
        return lengths.get(loop, UNKNOWN_LENGTH)

    sizes = [prod(map(length, factor.loops)) for factor in factors]
    return Work(prod(map(length, loops)), sum(sizes), sizes[0], bytes)


def best(work: Work, ways: Sequence[Way]) -> Way:
    """The way that takes the fewest cycles."""
    return min(ways, key=work.cycles)
