"""Compare two benchmark reports, and estimate which differences are noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from riselang.tools.figures import Figure, Report

MIN_SAMPLES = 5
"""With fewer samples, the noise cannot be estimated."""
RESAMPLINGS = 2000
CONFIDENCE = 0.99
"""The confidence level of a change; it is high, since reports have tens of figures and should not
contain false alarms."""
MIN_CHANGE = 0.01
"""Smaller changes are ignored: relinking a program moves its code, which has such an effect."""


class Verdict(Enum):
    """The result of comparing a figure."""

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
    """The confidence interval of the ratio; None if there are too few samples."""

    @property
    def ratio(self) -> float:
        return self.new.median / self.old.median

    @property
    def verdict(self) -> Verdict:
        if self.interval is None:
            return Verdict.UNKNOWN
        low, high = self.interval
        if abs(self.ratio - 1) < MIN_CHANGE or low <= 1 <= high:
            return Verdict.SAME
        return Verdict.SLOWER if self.ratio > 1 else Verdict.FASTER

    def exceeds(self, ratio: float) -> bool:
        """Return whether the ratio is above `ratio`, beyond noise."""
        return self.ratio > ratio and self.verdict in (Verdict.SLOWER, Verdict.UNKNOWN)


FigureKey = tuple[str, str, str]


def figures_by_name(report: Report) -> Mapping[FigureKey, Figure]:
    """Return figures by group, name and unit; figures that differ only in the rival are merged."""
    figures: dict[FigureKey, Figure] = {}
    for figure in report.figures:
        figures.setdefault((figure.group, figure.name, figure.unit), figure)
    return figures


def compare_reports(old: Report, new: Report) -> list[Change]:
    """Compare the figures that both reports have, in the order of the new one."""
    old_figures, new_figures = figures_by_name(old), figures_by_name(new)
    return [
        Change(old_figures[key], figure, ratio_interval(old_figures[key].samples, figure.samples))
        for key, figure in new_figures.items()
        if key in old_figures
    ]


def ratio_interval(old: Sequence[float], new: Sequence[float]) -> tuple[float, float] | None:
    """Return a confidence interval for the ratio of the medians, by bootstrapping."""
    if min(len(old), len(new)) < MIN_SAMPLES:
        return None
    generator = np.random.default_rng(0)  # for reproducible comparisons

    def medians(samples: Sequence[float]) -> np.ndarray:
        drawn = generator.choice(np.asarray(samples), (RESAMPLINGS, len(samples)))
        return np.median(drawn, axis=1)

    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians(new) / medians(old), [tail, 1 - tail])
    return float(low), float(high)
