"""Charts of a report: how many times longer than its rival each figure of a benchmark takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from riselang.tools.comparison import ratio_interval
from riselang.tools.figures import Figure, Report

OURS, MISSED, LINE = "#3b6ea5", "#c0504d", "#444444"
FORMATS = ("png", "svg")


def draw_charts(report: Report, folder: Path) -> list[Path]:
    """The charts, each as PNG and SVG; the paths of the PNGs."""
    made: list[Path] = []
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        rated = [figure for figure in figures if figure.rival is not None]
        if rated:
            made.append(_draw(group, rated, folder))
    return made


def _draw(group: str, figures: Sequence[Figure], folder: Path) -> Path:
    canvas = Canvas(figsize=(9, 1.2 + 0.36 * len(figures)), layout="constrained")
    axes = canvas.add_subplot()
    axes.set_title(group.replace("_", " "), loc="left")
    for row, figure in enumerate(figures):
        _bar(axes, row, figure)
    axes.set_yticks(range(len(figures)), [_label(figure) for figure in figures], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1.0, color=LINE, linewidth=0.8)
    axes.set_xlim(left=0)
    axes.set_xlabel("times as long as the rival (less is better); a tick is what is required")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for ending in FORMATS:
        canvas.savefig(folder / f"{group}.{ending}", dpi=150)
    return folder / f"{group}.png"


def _bar(axes: Axes, row: int, figure: Figure) -> None:
    assert figure.rival is not None
    assert figure.ratio is not None
    is_missed = figure.bound is not None and figure.ratio > figure.bound
    axes.barh(row, figure.ratio, height=0.6, color=MISSED if is_missed else OURS)
    end = figure.ratio
    interval = ratio_interval(figure.rival.samples, figure.samples)
    if interval is not None:
        axes.plot(interval, [row, row], color=LINE, linewidth=1.2)
        end = max(end, interval[1])
    if figure.bound is not None:
        axes.plot([figure.bound] * 2, [row - 0.4, row + 0.4], color=LINE, linewidth=2)
        end = max(end, figure.bound)
    axes.annotate(f"{figure.ratio:.3f}", (end, row), (4, 0), textcoords="offset points",
                  va="center", fontsize=8)  # fmt: skip


def _label(figure: Figure) -> str:
    assert figure.rival is not None
    return f"{figure.name} / {figure.rival.name}"
