"""Runs of a sequence that occur in it more than once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

LONGEST_PERIOD = 512
"""The longest run that is looked for where its occurrences follow each other."""
LONGEST_APART = 8
"""The longest run that is looked for where they do not."""
MOST_TRIED = 256


@dataclass(frozen=True, order=True)
class Run:
    """Something that occurs at `start`, and again; ordered by how much it may save."""

    rank: int
    """The negated sizes of all occurrences but the first, if none of them overlap."""
    length: int
    start: int


@dataclass
class Repeats:
    """The runs of equal numbers that save at least so much, those that save the most first."""

    numbers: Sequence[int]
    sizes: Sequence[int]
    least: int
    taken: set[int] = field(default_factory=set[int])
    """Positions that belong to an earlier run and to no later one."""

    def __iter__(self) -> Iterator[Run]:
        ends = list(accumulate(self.sizes, initial=0))
        found = [
            Run(-count * (ends[start + length] - ends[start]), length, start)
            for start, length, count in {*_adjacent(self.numbers), *_apart(self.numbers)}
        ]
        # Of runs that save the same, the shorter occurs more often.
        return iter(sorted(run for run in found if -run.rank >= self.least)[:MOST_TRIED])

    def occurrences(self, run: Run) -> list[range]:
        """Where the run occurs, without overlaps and positions that are taken."""
        wanted = list(self.numbers[run.start : run.start + run.length])
        places: list[range] = []
        at = run.start
        while at + run.length <= len(self.numbers):
            place = range(at, at + run.length)
            is_here = self.numbers[at] == wanted[0] and self._at(place) == wanted
            if is_here and self.taken.isdisjoint(place):
                places.append(place)
                at = place.stop
            else:
                at += 1
        return places

    def _at(self, place: range) -> list[int]:
        return list(self.numbers[place.start : place.stop])


def _adjacent(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs that follow each other: every start they may have, their length, how many follow."""
    array = np.array(numbers)
    known: list[tuple[int, int, int]] = []
    for period in range(1, min(len(numbers) // 2, LONGEST_PERIOD) + 1):
        equal = np.concatenate([[False], array[period:] == array[:-period], [False]])
        edges = np.flatnonzero(np.diff(equal.astype(np.int8))).tolist()
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            is_known = any(
                period % shorter == 0 and start <= first and last <= end
                for shorter, start, end in known
            )
            if last - first < period or is_known:
                continue
            known.append((period, first, last + period))
            for start in range(first, min(first + period, last - period + 1)):
                yield start, period, (last - start) // period


def _apart(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Short runs that occur anywhere: where first, their length, how often again."""
    for length in range(1, min(LONGEST_APART, len(numbers) // 2) + 1):
        seen: dict[tuple[int, ...], list[int]] = {}
        for at in range(len(numbers) - length + 1):
            places = seen.setdefault(tuple(numbers[at : at + length]), [])
            if not places or at >= places[-1] + length:
                places.append(at)
        for places in seen.values():
            if len(places) > 1:
                yield places[0], length, len(places) - 1
