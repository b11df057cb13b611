"""Charts of a report, each as PNG and SVG.

Every benchmark gets bars: how many times longer than its rival each figure takes. Some have more to
show, and a drawing of their own in `DRAWINGS`, which reads it off the names of the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from reporting import PEAK

from riselang.tools.figures import Figure, Report
from riselang.tools.report_comparison import ratio_interval

OURS, MISSED, LINE = "#3b6ea5", "#c0504d", "#444444"
SHADES = ("#3b6ea5", "#d98c3f", "#5f9e6e", "#b55d60", "#8470a8", "#8c7b6b", "#6c9ec1", "#a8a13f")
FORMATS = ("png", "svg")
_LADDER = re.compile(r"matmul (?P<size>\d+) cubed, (?P<version>.*)")
_STEP = re.compile(r"(?P<program>.*), (?P<step>[^,]*)")
_SCALED = re.compile(r"(?P<program>.*) of (?P<size>\d+), (?P<step>.*)")


def draw_charts(report: Report, folder: Path) -> list[Path]:
    """The charts; the paths of the PNGs, those of a benchmark one behind the other."""
    made: list[Path] = []
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        all_of_it = list(figures)
        rated = [figure for figure in all_of_it if figure.rival is not None]
        if rated:
            made.append(save_canvas(_ratios(group, rated), folder / group))
        for name, draw in DRAWINGS.items():
            canvas = draw(all_of_it) if name.startswith(f"{group}_") else None
            if canvas is not None:
                made.append(save_canvas(canvas, folder / name))
    return made


def save_canvas(canvas: Canvas, path: Path) -> Path:
    for ending in FORMATS:
        canvas.savefig(path.with_suffix(f".{ending}"), dpi=150)
    return path.with_suffix(".png")


def _ratios(group: str, figures: Sequence[Figure]) -> Canvas:
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
    _bare(axes)
    return canvas


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


def _bare(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def ladder(figures: Sequence[Figure]) -> Canvas | None:
    """Every version of matmul in GFLOP/s, beside the library and the peak of the machine."""
    by_size: dict[int, dict[str, Figure]] = {}
    for figure in figures:
        if match := _LADDER.fullmatch(figure.name):
            by_size.setdefault(int(match["size"]), {})[match["version"]] = figure
    if not by_size:
        return None
    peaks = [1 / figure.median for figure in figures if figure.name == PEAK]
    rows = 2 + max(map(len, by_size.values()))
    canvas = Canvas(figsize=(9, len(by_size) * (1 + 0.34 * rows)), layout="constrained")
    charts = canvas.subplots(len(by_size), 1, squeeze=False)[:, 0]
    for axes, (size, versions) in zip(charts, by_size.items(), strict=True):
        _speeds(axes, 2e-9 * size**3, versions)
        for peak in peaks:
            axes.axvline(peak, color=LINE, linestyle="--", linewidth=1)
        axes.set_title(f"matmul {size} cubed, one thread", loc="left")
        axes.set_xlabel("GFLOP/s (more is better); dashed: the peak that was measured")
    return canvas


def _speeds(axes: Axes, work: float, versions: Mapping[str, Figure]) -> None:
    """A bar for each version, and one for the rival; `work` is in billions of operations."""
    speeds = {name: work / figure.median for name, figure in versions.items()}
    rivals = {rival.name: work / median(rival.samples)
              for rival in (figure.rival for figure in versions.values()) if rival}  # fmt: skip
    colours = [OURS] * len(speeds) + [SHADES[1]] * len(rivals)
    shown = speeds | rivals
    bars = axes.barh(list(shown), list(shown.values()), height=0.6, color=colours)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    _bare(axes)


def breakdown(figures: Sequence[Figure]) -> Canvas | None:
    """Where the time of a compilation goes: a bar for each program, its steps one by one."""
    shares: dict[str, dict[str, float]] = {}
    for figure in figures:
        match = _STEP.fullmatch(figure.name)
        if match and figure.rival is not None and figure.rival.name == "all steps":
            shares.setdefault(match["program"], {})[match["step"]] = 1e3 * figure.median
    if not shares:
        return None
    steps = list(dict.fromkeys(step for taken in shares.values() for step in taken))
    canvas = Canvas(figsize=(9, 1.4 + 0.5 * len(shares)), layout="constrained")
    axes = canvas.add_subplot()
    starts = dict.fromkeys(shares, 0.0)
    for number, step in enumerate(steps):
        widths = [taken.get(step, 0.0) for taken in shares.values()]
        axes.barh(list(shares), widths, left=list(starts.values()), height=0.6, label=step,
                  color=SHADES[number % len(SHADES)])  # fmt: skip
        starts = {name: starts[name] + shares[name].get(step, 0.0) for name in shares}
    axes.invert_yaxis()
    axes.set_title("where the time of a compilation goes", loc="left")
    axes.set_xlabel("milliseconds")
    canvas.legend(fontsize=8, loc="outside lower center", ncols=len(steps))
    _bare(axes)
    return canvas


def growth(figures: Sequence[Figure]) -> Canvas | None:
    """How the time of each step grows with the program; dashed lines are linear."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for figure in figures:
        match = _SCALED.fullmatch(figure.name)
        if match:
            steps = lines.setdefault(match["program"], {})
            steps.setdefault(match["step"], []).append((int(match["size"]), min(figure.samples)))
    lines = {name: steps for name, steps in lines.items() if any(map(_is_line, steps.values()))}
    if not lines:
        return None
    canvas = Canvas(figsize=(9, 2.8 * len(lines)), layout="constrained")
    rows = canvas.subplots(len(lines), 1, squeeze=False)[:, 0]
    for axes, (program, steps) in zip(rows, lines.items(), strict=True):
        for number, (step, points) in enumerate(steps.items()):
            sizes, taken = zip(*sorted(points), strict=True)
            colour = SHADES[number % len(SHADES)]
            axes.loglog(sizes, taken, marker="o", markersize=4, label=step, color=colour)
            linear = [taken[-1] * size / sizes[-1] for size in sizes]
            axes.loglog(sizes, linear, linestyle="--", linewidth=0.7, color=colour)
        every = sorted({size for points in steps.values() for size, _ in points})
        axes.set_xticks(every, [str(size) for size in every])
        axes.minorticks_off()
        axes.set_title(program, loc="left")
        axes.set_xlabel("parts of the program")
        axes.set_ylabel("seconds")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
        _bare(axes)
    return canvas


def _is_line(points: Sequence[tuple[int, float]]) -> bool:
    return len(points) > 1 and all(taken > 0 for _, taken in points)


DRAWINGS: Mapping[str, Callable[[Sequence[Figure]], Canvas | None]] = {
    "matmul_ladder_speeds": ladder,
    "compile_time_breakdown": breakdown,
    "scaling_growth": growth,
}
"""What else a benchmark shows; a name begins with that of the benchmark."""
