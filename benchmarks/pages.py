"""A report of benchmarks as a page, in Markdown and in HTML."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from riselang.tools.figures import Figure, Report, format_amount, quartiles

HEADER = "| figure | ours | quartiles | rival | theirs | ratio | of minima | at most |"


def page(report: Report, charts: Sequence[Path]) -> str:
    """What was measured, where, a table for each benchmark, and its chart."""
    lines = ["# Benchmarks", "", *_facts(report.machine), *_facts(report.versions), ""]
    for group, figures in groupby(report.figures, lambda figure: figure.group):
        lines += [f"## {group.replace('_', ' ')}", "", *_table(list(figures)), ""]
        lines += [f"![{chart.stem}]({chart.name})\n" for chart in charts if _is_of(chart, group)]
    return "\n".join(lines)


STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #8884; text-align: right; }
th:first-child, td:first-child, th:nth-child(4), td:nth-child(4) { text-align: left; }
.missed { color: #c0504d; font-weight: 600; }
img { max-width: 100%; background: white; border-radius: 6px; margin: 0.5rem 0; }
"""


def html_page(report: Report, charts: Sequence[Path]) -> str:
    """The same page for browsers; charts stand beside it as SVG."""
    groups = groupby(report.figures, lambda figure: figure.group)
    sections = [_section(group, list(figures), charts) for group, figures in groups]
    facts = "".join(f"<p>{escape(line[2:])}</p>" for line in
                    (*_facts(report.machine), *_facts(report.versions)))  # fmt: skip
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Benchmarks</title><style>{STYLE}</style>"
    )
    body = f"<h1>Benchmarks</h1>{facts}{''.join(sections)}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _section(group: str, figures: Sequence[Figure], charts: Sequence[Path]) -> str:
    names = [cell.strip() for cell in HEADER.strip("|").split("|")]
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(f"<tr>{''.join(map(_html_cell, _cells(figure)))}</tr>" for figure in figures)
    images = "".join(
        f'<img src="{chart.with_suffix(".svg").name}" alt="{escape(chart.stem)}">'
        for chart in charts
        if _is_of(chart, group)
    )
    table = f'<div class="table"><table><tr>{heads}</tr>{rows}</table></div>'
    return f"<h2>{escape(group.replace('_', ' '))}</h2>{images}{table}"


def _html_cell(text: str) -> str:
    is_missed = text.startswith("**")
    mark = ' class="missed"' if is_missed else ""
    return f"<td{mark}>{escape(text.strip('*'))}</td>"


def _is_of(chart: Path, group: str) -> bool:
    return chart.stem == group or chart.stem.startswith(f"{group}_")


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    yield "- " + ", ".join(f"{name} {value}" for name, value in facts.items())


def _table(figures: Sequence[Figure]) -> Iterator[str]:
    yield HEADER
    yield "|---|---:|---:|---|---:|---:|---:|---:|"
    for figure in figures:
        yield f"| {' | '.join(_cells(figure))} |"


def _cells(figure: Figure) -> list[str]:
    low, high = quartiles(figure.samples)
    spread = f"{format_amount(low, figure.unit)} .. {format_amount(high, figure.unit)}"
    cells = [figure.name, format_amount(figure.median, figure.unit), spread]
    if figure.rival is None:
        return [*cells, "", "", "", "", ""]
    theirs = format_amount(statistics.median(figure.rival.samples), figure.unit)
    ratios = [f"{ratio:.3f}" for ratio in (figure.ratio, figure.ratio_of_minima)]
    return [*cells, figure.rival.name, theirs, *ratios, _bound(figure)]


def _bound(figure: Figure) -> str:
    if figure.bound is None:
        return ""
    is_kept = figure.ratio is not None and figure.ratio <= figure.bound
    return f"{figure.bound:.3g}" if is_kept else f"**{figure.bound:.3g}: missed**"
