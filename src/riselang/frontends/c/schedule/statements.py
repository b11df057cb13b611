"""Loops for a single statement: the choice of the innermost loop, and of those unrolled into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from riselang.frontends.c.emit.vectors import is_vectorisable
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.order import is_parallel, keeps
from riselang.frontends.c.schedule.rows import Rows, independent, is_row_of
from riselang.frontends.c.schedule.steps import Run
from riselang.frontends.c.schedule.strides import Stride, strides

TOGETHER = 4
"""The unroll-and-jam factor of an outer loop around a vectorized innermost one."""
CHAINS = 8
"""The number of interleaved reductions: enough to hide the latency of additions, and to reuse the
elements that all of them read."""
APART = 4
"""The same if they share no elements: more would need more address registers."""
STRIP, DEPTH = 256, 128
"""The elements of a row, and the rows, that stay in the cache: the cache tile."""


@dataclass(frozen=True)
class Alone:
    """A statement, the rows that are left to it, and its self-dependences."""

    scop: Scop
    statement: ModelStatement
    outer: Rows
    rows: Rows
    pairs: Any

    def keeps(self, rows: Sequence[Linear]) -> bool:
        times = {self.statement.name: (*self.outer, *rows)}
        return keeps(self.scop, self.pairs, times, strictly=True)

    def is_parallel(self, rows: Sequence[Linear]) -> bool:
        times = {self.statement.name: (*self.outer, *rows)}
        return is_parallel(self.scop, self.pairs, times)

    def strides(self, row: Linear) -> dict[Any, Stride]:
        """Return the strides of accesses along one of the rows, all others fixed."""
        whole = independent((*self.outer, *self.rows), self.statement)
        if row not in whole:
            return {}
        return strides(self.statement, whole, whole.index(row)) or {}

    def is_along_memory(self, row: Linear) -> bool:
        """Whether vectors of iterations of a row write and read contiguous elements."""
        found = self.strides(row)
        writes = [found[access] for access in self.statement.writes if access in found]
        return (
            bool(writes)
            and all(stride is Stride.NEXT for stride in writes)
            and all(stride in (Stride.STAYS, Stride.NEXT) for stride in found.values())
        )

    def reads_along(self, row: Linear) -> bool:
        """Whether iterations of a row read contiguous elements, and write the same one."""
        found = self.strides(row)
        return (
            bool(found)
            and Stride.FAR not in found.values()
            and all(found.get(access) is Stride.STAYS for access in self.statement.writes)
        )

    def shares_lines(self, row: Linear, beside: Linear) -> bool:
        """Whether cache lines that are read are used whole: by iterations of a row, or by those of
        another that run at the same time."""
        along, across = self.strides(row), self.strides(beside)
        return all(
            along.get(access) is not Stride.FAR or across.get(access) is not Stride.FAR
            for access in self.statement.reads
        )

    def reads_far(self, row: Linear) -> bool:
        """Whether iterations of a row read elements that are not contiguous."""
        along = self.strides(row)
        return any(along.get(access) is Stride.FAR for access in self.statement.reads)

    def moves(self, row: Linear) -> bool:
        """Whether each iteration of a row writes a different element."""
        found = self.strides(row)
        return any(found.get(access) is not Stride.STAYS for access in self.statement.writes)

    def reads_again(self, row: Linear) -> bool:
        """Whether iterations of a row read an array element in common."""
        found = self.strides(row)
        return any(
            read.indices and found.get(read) is Stride.STAYS for read in self.statement.reads
        )

    def reuses(self, row: Linear) -> bool:
        """Whether iterations of a row have elements in common."""
        return Stride.STAYS in self.strides(row).values()


def left_over(rows: Rows, outer: Rows, statement: ModelStatement) -> Rows:
    """Return the rows that those of outer loops do not determine."""
    names = [name for _, name in statement.iterators]
    known = list(independent(outer, statement))
    kept: list[Linear] = []
    for row in rows:
        if not is_row_of([*known, *kept], row, names):
            kept.append(row)
    return tuple(kept)


def run_of(alone: Alone) -> Run:
    """Return the first candidate that preserves all dependences."""
    for rows, tiles in (*_in_vectors(alone), *_in_chains(alone)):
        if alone.keeps(rows):
            return Run(alone.statement.name, rows, tiles)
    return Run(alone.statement.name, _plain(alone))


Arranged = tuple[Rows, tuple[tuple[Linear, int], ...]]


def _in_vectors(alone: Alone) -> Iterator[Arranged]:
    """Yield candidates whose innermost row is contiguous and parallel."""
    if not is_vectorisable(alone.statement):
        return
    for row in reversed(alone.rows):
        others = [each for each in alone.rows if each != row]
        # The written elements change slowest, so that they stay in the cache.
        others.sort(key=lambda each: not alone.moves(each))
        if not alone.is_along_memory(row) or not alone.is_parallel((*others, row)):
            continue
        shared = [each for each in others if alone.reuses(each)]
        for count in (2, 1):
            if len(shared) >= count:
                tiles = tuple((each, TOGETHER) for each in shared[-count:])
                yield from _tiled(others, row, tiles)
        yield (*others, row), ()


def _tiled(
    others: Sequence[Linear], row: Linear, tiles: tuple[tuple[Linear, int], ...]
) -> Iterator[Arranged]:
    sizes = dict(tiles)
    loops = [each.divided(sizes[each]) if each in sizes else each for each in others]
    unrolled = [each for each, _ in tiles]
    if len(others) > 1:
        strips = [row.divided(STRIP), others[-1].divided(DEPTH)]
        yield (*strips, *loops, row, *unrolled), tiles
    yield (*loops, row, *unrolled), tiles


def _in_chains(alone: Alone) -> Iterator[Arranged]:
    """Yield candidates whose innermost row is a reduction, several of them interleaved."""
    pairs = [
        (inner, beside)
        for inner, beside in permutations(alone.rows, 2)
        if alone.moves(beside) and alone.shares_lines(inner, beside)
    ]
    pairs.sort(key=lambda pair: alone.reads_far(pair[0]))
    for inner, beside in pairs:
        size = CHAINS if alone.reads_again(beside) else APART
        yield from _beside(alone, inner, beside, inner, size)
    for inner, beside in pairs:
        if not alone.reads_far(inner):
            yield from _beside(alone, inner, beside, inner + beside, TOGETHER)


def _beside(
    alone: Alone, inner: Linear, beside: Linear, innermost: Linear, size: int
) -> Iterator[Arranged]:
    others = [each for each in alone.rows if each not in (inner, beside)]
    if alone.is_parallel((*others, innermost, beside)):
        yield (*others, beside.divided(size), innermost, beside), ((beside, size),)


def _plain(alone: Alone) -> Rows:
    """Return the valid order of rows with the fewest non-contiguous accesses."""

    def far(rows: Rows) -> int:
        return sum(stride is Stride.FAR for stride in alone.strides(rows[-1]).values())

    orders = [rows for rows in permutations(alone.rows) if rows] if alone.rows else []
    for rows in sorted(orders, key=far):
        if alone.keeps(rows):
            return rows
    return alone.rows
