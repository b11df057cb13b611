"""A report of benchmarks as a page in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from riselang.tools.figures import Figure, Report, amount, quartiles

HEADER = "| figure | ours | quartiles | rival | theirs | ratio | at most |"


def page(report: Report, charts: Sequence[Path]) -> str:
    """What was measured, where, a table for each benchmark, and its chart."""
    lines = ["# Benchmarks", "", *_facts(report.machine), *_facts(report.versions), ""]
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        lines += [f"## {group.replace('_', ' ')}", "", *_table(list(figures)), ""]
        lines += [f"![{chart.stem}]({chart.name})\n" for chart in charts if _is_of(chart, group)]
    return "\n".join(lines)


def _is_of(chart: Path, group: str) -> bool:
    return chart.stem == group or chart.stem.startswith(f"{group}_")


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    yield "- " + ", ".join(f"{name} {value}" for name, value in facts.items())


def _table(figures: Sequence[Figure]) -> Iterator[str]:
    yield HEADER
    yield "|---|---:|---:|---|---:|---:|---:|"
    for figure in figures:
        yield f"| {' | '.join(_cells(figure))} |"


def _cells(figure: Figure) -> list[str]:
    low, high = quartiles(figure.samples)
    spread = f"{amount(low, figure.unit)} .. {amount(high, figure.unit)}"
    cells = [figure.name, amount(figure.median, figure.unit), spread]
    if figure.rival is None:
        return [*cells, "", "", "", ""]
    theirs = amount(statistics.median(figure.rival.samples), figure.unit)
    return [*cells, figure.rival.name, theirs, f"{figure.ratio:.3f}", _bound(figure)]


def _bound(figure: Figure) -> str:
    if figure.bound is None:
        return ""
    is_kept = figure.ratio is not None and figure.ratio <= figure.bound
    return f"{figure.bound:.3g}" if is_kept else f"**{figure.bound:.3g}: missed**"
