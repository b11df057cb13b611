"""Finding runs that occur more than once in a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

MAX_PERIOD = 512
"""The maximum length of a run whose occurrences are adjacent."""
MAX_SEPARATE_LENGTH = 8
"""The maximum length of a run whose occurrences are not adjacent."""
MAX_CANDIDATES = 256
BASE = 0x9E3779B97F4A7C15
"""An odd number: its powers differ modulo 2**64."""


@dataclass(frozen=True, order=True)
class Run:
    """A run that occurs at `start`, and again later; ordered by how much it may save."""

    rank: int
    """The negated total size of all occurrences but the first, if none of them overlap."""
    length: int
    start: int


@dataclass
class Repeats:
    """The repeated runs that save at least `min_saving`, in the order of decreasing savings."""

    numbers: Sequence[int]
    sizes: Sequence[int]
    min_saving: int
    used_positions: set[int] = field(default_factory=set[int])
    """The positions that belong to an earlier run, which later runs cannot use."""

    def __iter__(self) -> Iterator[Run]:
        total_sizes = list(accumulate(self.sizes, initial=0))
        runs = [
            Run(-count * (total_sizes[start + length] - total_sizes[start]), length, start)
            for start, length, count in {*self._adjacent_repeats(), *_separate_runs(self.numbers)}
        ]
        # If two runs save the same amount, the shorter one occurs more often.
        return iter(sorted(run for run in runs if -run.rank >= self.min_saving)[:MAX_CANDIDATES])

    def occurrences(self, run: Run) -> list[range]:
        """The occurrences of the run, without overlaps and without positions that are in use."""
        run_numbers = list(self.numbers[run.start : run.start + run.length])
        positions: list[range] = []
        start = run.start
        while start + run.length <= len(self.numbers):
            position = range(start, start + run.length)
            is_occurrence = (
                self.numbers[start] == run_numbers[0] and self._run_at(position) == run_numbers
            )
            if is_occurrence and self.used_positions.isdisjoint(position):
                positions.append(position)
                start = position.stop
            else:
                start += 1
        return positions

    def _run_at(self, position: range) -> list[int]:
        return list(self.numbers[position.start : position.stop])

    def _adjacent_repeats(self) -> Iterator[tuple[int, int, int]]:
        """Runs with adjacent occurrences: first position, length, number of further occurrences."""
        hashes = _Hashes(self.numbers)
        reported: set[tuple[int, int]] = set()
        for start, length in sorted(_adjacent_runs(self.numbers)):
            positions = hashes.positions(start, length)
            if (positions[0], length) not in reported:
                reported.add((positions[0], length))
                yield positions[0], length, _count_without_overlaps(positions, length) - 1


class _Hashes:
    """Finds equal runs of a sequence by their rolling hashes."""

    def __init__(self, numbers: Sequence[int]):
        count, kinds = len(numbers), max(numbers, default=0) + 1
        codes = np.random.default_rng(0).integers(1, 1 << 63, kinds, np.uint64)
        self._powers = np.cumprod(np.full(count + 1, BASE, np.uint64), dtype=np.uint64)
        # Sums of code * base**position: the sums of equal runs differ by a power of the base.
        self._sums = np.zeros(count + 1, np.uint64)
        np.cumsum(codes[np.array(numbers, np.int64)] * self._powers[:count], out=self._sums[1:])

    def positions(self, start: int, length: int) -> list[int]:
        """The positions at which the run at `start` occurs, in order."""
        sums = self._sums[length:] - self._sums[:-length]
        last = len(sums) - 1
        at_end = sums * self._powers[last::-1][: last + 1]
        return np.flatnonzero(at_end == at_end[start]).tolist()


def _count_without_overlaps(positions: Sequence[int], length: int) -> int:
    count, end = 0, 0
    for position in positions:
        if position >= end:
            count, end = count + 1, position + length
    return count


def _adjacent_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs that are repeated immediately: every possible start, and the length."""
    array = np.array(numbers)
    runs_by_period: dict[int, list[tuple[int, int]]] = {}
    for period in range(1, min(len(numbers) // 2, MAX_PERIOD) + 1):
        equal = np.concatenate([[False], array[period:] == array[:-period], [False]])
        edges = np.flatnonzero(np.diff(equal.astype(np.int8))).reshape(-1, 2)
        long = edges[edges[:, 1] - edges[:, 0] >= period].tolist()
        if not long:
            continue
        shorter = [
            extent
            for part in runs_by_period
            if period % part == 0
            for extent in runs_by_period[part]
        ]
        for first, last in long:
            if any(start <= first and last <= end for start, end in shorter):
                continue
            runs_by_period.setdefault(period, []).append((first, last + period))
            for start in range(first, min(first + period, last - period + 1)):
                yield start, period


def _separate_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Short runs that occur anywhere: first position, length, number of further occurrences."""
    for length in range(1, min(MAX_SEPARATE_LENGTH, len(numbers) // 2) + 1):
        positions_by_run: dict[tuple[int, ...], list[int]] = {}
        for start in range(len(numbers) - length + 1):
            positions = positions_by_run.setdefault(tuple(numbers[start : start + length]), [])
            if not positions or start >= positions[-1] + length:
                positions.append(start)
        for positions in positions_by_run.values():
            if len(positions) > 1:
                yield positions[0], length, len(positions) - 1
