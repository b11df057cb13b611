"""Loops for a single statement: the choice of the innermost loop, and of those unrolled into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

from riselang.frontends.c.emit.loop_vectorization import is_vectorizable
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.dependence_queries import is_parallel, preserves_dependences
from riselang.frontends.c.schedule.plan import StatementLoops
from riselang.frontends.c.schedule.rows import Rows, independent_rows, is_dependent_row
from riselang.frontends.c.schedule.strides import Stride, access_strides

UNROLL_AND_JAM = 4
"""The unroll-and-jam factor of an outer loop around a vectorized innermost one."""
INTERLEAVED_REDUCTIONS = 8
"""The number of interleaved reductions: enough to hide the latency of additions, and to reuse the
elements that all of them read."""
INTERLEAVED_WITHOUT_REUSE = 4
"""The same if they share no elements: more would need more address registers."""
MAX_DISTANCE = 1 << 32
"""A distance between iterations that no loop exceeds; a distance is divided by it for its sign."""
CACHE_TILE_COLUMNS, CACHE_TILE_ROWS = 256, 128
"""The elements of a row, and the rows, that stay in the cache: the cache tile."""


@dataclass(frozen=True)
class SingleStatement:
    """A statement, the rows that are left to it, and its self-dependences."""

    scop: Scop
    statement: ModelStatement
    outer: Rows
    rows: Rows
    pairs: Any

    def preserves_dependences(self, rows: Sequence[Linear]) -> bool:
        times = {self.statement.name: (*self.outer, *rows)}
        return preserves_dependences(self.scop, self.pairs, times, strictly=True)

    def is_parallel(self, rows: Sequence[Linear]) -> bool:
        times = {self.statement.name: (*self.outer, *rows)}
        return is_parallel(self.scop, self.pairs, times)

    def strides_along(self, row: Linear) -> dict[Any, Stride]:
        """Return the strides of accesses along one of the rows, all others fixed."""
        whole = independent_rows((*self.outer, *self.rows), self.statement)
        if row not in whole:
            return {}
        return access_strides(self.statement, whole, whole.index(row)) or {}

    def is_contiguous(self, row: Linear) -> bool:
        """Whether vectors of iterations of a row write and read contiguous elements."""
        strides = self.strides_along(row)
        writes = [strides[access] for access in self.statement.writes if access in strides]
        return (
            bool(writes)
            and all(stride is Stride.NEXT for stride in writes)
            and Stride.FAR not in strides.values()
        )

    def reads_contiguously(self, row: Linear) -> bool:
        """Whether iterations of a row read contiguous elements, and write the same one."""
        strides = self.strides_along(row)
        return (
            bool(strides)
            and Stride.FAR not in strides.values()
            and all(strides.get(access) is Stride.STAYS for access in self.statement.writes)
        )

    def separating_rows(self, row: Linear) -> Iterator[Rows]:
        """Yield rows that separate iterations of a row: those before the one that writes an
        element that all of them read, that one, and those after it."""
        strides, relations = self.strides_along(row), self.statement.access_relations
        for write, read in product(self.statement.writes, self.statement.reads):
            if write.variable is not read.variable or strides.get(read) is not Stride.STAYS:
                continue
            written, common = relations[write].indices, relations[read].indices
            if written and common and strides.get(write) is Stride.NEXT:
                distance = written[-1] - common[-1]
                yield tuple(
                    (distance - Linear(first)).floor_divide(MAX_DISTANCE) for first in (0, 1)
                )

    def uses_whole_cache_lines(self, row: Linear, other: Linear) -> bool:
        """Whether cache lines that are read are used whole: by iterations of a row, or by those of
        another that run at the same time."""
        along, across = self.strides_along(row), self.strides_along(other)
        return all(
            along.get(access) is not Stride.FAR or across.get(access) is not Stride.FAR
            for access in self.statement.reads
        )

    def reads_non_contiguously(self, row: Linear) -> bool:
        """Whether iterations of a row read elements that are not contiguous."""
        along = self.strides_along(row)
        return any(along.get(access) is Stride.FAR for access in self.statement.reads)

    def writes_distinct_elements(self, row: Linear) -> bool:
        """Whether each iteration of a row writes a different element."""
        strides = self.strides_along(row)
        return any(strides.get(access) is not Stride.STAYS for access in self.statement.writes)

    def reuses_reads(self, row: Linear) -> bool:
        """Whether iterations of a row read an array element in common."""
        strides = self.strides_along(row)
        return any(
            read.indices and strides.get(read) is Stride.STAYS for read in self.statement.reads
        )

    def reuses_elements(self, row: Linear) -> bool:
        """Whether iterations of a row have array elements in common."""
        return any(
            stride is Stride.STAYS and access.indices
            for access, stride in self.strides_along(row).items()
        )


def remaining_rows(rows: Rows, outer: Rows, statement: ModelStatement) -> Rows:
    """Return the rows that those of outer loops do not determine.

    An iterator that an outer loop fixes only shifts a row, so it is removed.
    """
    names = [name for _, name in statement.iterators]
    known = list(independent_rows(outer, statement))
    fixed = {
        row.terms[0][0] for row in outer if len(row.terms) == 1 and isinstance(row.terms[0][0], str)
    }
    kept: list[Linear] = []
    for row in rows:
        if not is_dependent_row([*known, *kept], row, names):
            kept.append(_without_names(row, fixed))
    return tuple(kept)


def _without_names(row: Linear, names: Set[str]) -> Linear:
    """Remove names from a row, and the constant if there were any."""
    terms = tuple(term for term in row.terms if term[0] not in names)
    return row if len(terms) == len(row.terms) else Linear(0, terms)


def choose_loops(alone: SingleStatement) -> StatementLoops:
    """Return the first candidate that preserves all dependences."""
    name, instances = alone.statement.name, alone.statement.domain
    as_written = replace(alone, rows=_source_rows(alone))
    for rows, tiles in (
        *_vectorized_candidates(alone),
        *_vectorized_candidates(as_written),
        *_reduction_candidates(alone),
    ):
        if alone.preserves_dependences(rows):
            return StatementLoops(name, instances, rows, tiles)
    return StatementLoops(name, instances, _plain_rows(alone))


def _source_rows(alone: SingleStatement) -> Rows:
    """Return the loops of the source that the outer loops do not determine; none if isl's rows
    are the same."""
    iterators = tuple(Linear.of(iterator) for _, iterator in alone.statement.iterators)
    rows = remaining_rows(iterators, alone.outer, alone.statement)
    return () if set(rows) == set(alone.rows) else rows


Candidate = tuple[Rows, tuple[tuple[Linear, int], ...]]


def _vectorized_candidates(alone: SingleStatement) -> Iterator[Candidate]:
    """Yield candidates whose innermost row is contiguous and parallel."""
    if not is_vectorizable(alone.statement):
        return
    for row in reversed(alone.rows):
        if not alone.is_contiguous(row):
            continue
        other_rows = [each for each in alone.rows if each != row]
        # The written elements change slowest, so that they stay in the cache.
        sorted_rows = sorted(other_rows, key=lambda each: not alone.writes_distinct_elements(each))
        if alone.is_parallel((*sorted_rows, row)):
            shared = [each for each in sorted_rows if alone.reuses_elements(each)]
            for count in (2, 1):
                if len(shared) >= count:
                    tiles = tuple((each, UNROLL_AND_JAM) for each in shared[-count:])
                    yield from _tiled_candidates(sorted_rows, row, tiles)
            yield (*sorted_rows, row), ()
        for separating_rows in alone.separating_rows(row):
            rows = (*other_rows, *separating_rows, row)
            if alone.is_parallel(rows):
                yield rows, ()


def _tiled_candidates(
    other_rows: Sequence[Linear], row: Linear, tiles: tuple[tuple[Linear, int], ...]
) -> Iterator[Candidate]:
    sizes = dict(tiles)
    loops = [each.floor_divide(sizes[each]) if each in sizes else each for each in other_rows]
    unrolled = [each for each, _ in tiles]
    if len(other_rows) > 1:
        strips = [
            row.floor_divide(CACHE_TILE_COLUMNS),
            other_rows[-1].floor_divide(CACHE_TILE_ROWS),
        ]
        yield (*strips, *loops, row, *unrolled), tiles
    yield (*loops, row, *unrolled), tiles


def _reduction_candidates(alone: SingleStatement) -> Iterator[Candidate]:
    """Yield candidates whose innermost row is a reduction, several of them interleaved."""
    pairs = [
        (inner, unrolled_row)
        for inner, unrolled_row in permutations(alone.rows, 2)
        if alone.writes_distinct_elements(unrolled_row)
        and alone.uses_whole_cache_lines(inner, unrolled_row)
    ]
    pairs.sort(key=lambda pair: alone.reads_non_contiguously(pair[0]))
    for inner, unrolled_row in pairs:
        size = (
            INTERLEAVED_REDUCTIONS
            if alone.reuses_reads(unrolled_row)
            else INTERLEAVED_WITHOUT_REUSE
        )
        yield from _interleaved_candidates(alone, inner, unrolled_row, inner, size)
    for inner, unrolled_row in pairs:
        if not alone.reads_non_contiguously(inner):
            yield from _interleaved_candidates(
                alone, inner, unrolled_row, inner + unrolled_row, UNROLL_AND_JAM
            )


def _interleaved_candidates(
    alone: SingleStatement, inner: Linear, unrolled_row: Linear, innermost: Linear, size: int
) -> Iterator[Candidate]:
    other_rows = [each for each in alone.rows if each not in (inner, unrolled_row)]
    if alone.is_parallel((*other_rows, innermost, unrolled_row)):
        yield (
            (*other_rows, unrolled_row.floor_divide(size), innermost, unrolled_row),
            ((unrolled_row, size),),
        )


def _plain_rows(alone: SingleStatement) -> Rows:
    """Return the valid order of rows with the fewest non-contiguous accesses."""

    def far(rows: Rows) -> int:
        return sum(stride is Stride.FAR for stride in alone.strides_along(rows[-1]).values())

    orders = [rows for rows in permutations(alone.rows) if rows] if alone.rows else []
    for rows in sorted(orders, key=far):
        if alone.preserves_dependences(rows):
            return rows
    return alone.rows
