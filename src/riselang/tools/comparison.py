"""Two reports of benchmarks against each other, and what of the difference is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from riselang.tools.figures import Figure, Report

FEWEST_SAMPLES = 5
"""With fewer, nothing is known of the noise."""
RESAMPLINGS = 2000
CONFIDENCE = 0.99
"""How sure a change must be: reports have tens of figures, and a false alarm in each would be
one too many."""
SMALLEST_CHANGE = 0.01
"""Changes of less than this are nobody's: the next link of the program moves code as far."""


class Verdict(Enum):
    """What became of a figure."""

    SAME = ""
    SLOWER = "slower"
    FASTER = "faster"
    UNKNOWN = "?"


@dataclass(frozen=True)
class Change:
    """A figure in two reports."""

    old: Figure
    new: Figure
    interval: tuple[float, float] | None
    """Where the ratio is for sure; None where there are too few samples to tell."""

    @property
    def ratio(self) -> float:
        return self.new.median / self.old.median

    @property
    def verdict(self) -> Verdict:
        if self.interval is None:
            return Verdict.UNKNOWN
        low, high = self.interval
        if abs(self.ratio - 1) < SMALLEST_CHANGE or low <= 1 <= high:
            return Verdict.SAME
        return Verdict.SLOWER if self.ratio > 1 else Verdict.FASTER

    def exceeds(self, ratio: float) -> bool:
        """Whether it got slower than that, unless that is noise."""
        return self.ratio > ratio and self.verdict in (Verdict.SLOWER, Verdict.UNKNOWN)


Key = tuple[str, str, str]


def by_name(report: Report) -> Mapping[Key, Figure]:
    """Figures by group, name and unit; those that differ in the rival alone are one."""
    found: dict[Key, Figure] = {}
    for figure in report.figures:
        found.setdefault((figure.group, figure.name, figure.unit), figure)
    return found


def changes(old: Report, new: Report) -> list[Change]:
    """What both reports have, in the order of the new one."""
    before, after = by_name(old), by_name(new)
    return [
        Change(before[key], figure, ratio_interval(before[key].samples, figure.samples))
        for key, figure in after.items()
        if key in before
    ]


def ratio_interval(old: Sequence[float], new: Sequence[float]) -> tuple[float, float] | None:
    """An interval for the ratio of the medians, by drawing the samples again (bootstrap)."""
    if min(len(old), len(new)) < FEWEST_SAMPLES:
        return None
    generator = np.random.default_rng(0)  # the same reports always compare alike

    def medians(samples: Sequence[float]) -> np.ndarray:
        drawn = generator.choice(np.asarray(samples), (RESAMPLINGS, len(samples)))
        return np.median(drawn, axis=1)

    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians(new) / medians(old), [tail, 1 - tail])
    return float(low), float(high)
