"""How a benchmark reports a figure: a line to read, and a record for `run.py`.

    report("matmul 64x64x64", ours, Rival("by hand", theirs), bound=1.03)

Samples are seconds, less is better, and the ratio is that of the medians, ours to the rival's;
that of the minima is printed beside it.
`bound` is what the ratio is required to be at most; it is shown, and nothing fails.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from riselang.tools.figures import SECONDS, Figure, Report, Rival, format_amount, write_report
from riselang.tools.machine_info import describe_machine, package_versions

FILE_VARIABLE = "RISE_BENCH_FIGURES"
"""The file that the figures of this process go to, set by `run.py`."""
PEAK = "a billion operations at the machine's peak"
"""What matmul is measured by: a figure that charts find by this name."""
_figures: list[Figure] = []


def report(
    name: str,
    samples: Sequence[float],
    rival: Rival | None = None,
    *,
    unit: str = SECONDS,
    bound: float | None = None,
) -> Figure:
    """Print a figure, and keep it."""
    figure = record(name, samples, rival, unit=unit, bound=bound)
    print(sentence(figure), flush=True)
    return figure


def record(
    name: str,
    samples: Sequence[float],
    rival: Rival | None = None,
    *,
    unit: str = SECONDS,
    bound: float | None = None,
) -> Figure:
    """Keep a figure that is printed in another way."""
    group = Path(sys.argv[0]).stem
    figure = Figure(group, name, tuple(samples), unit, rival, bound)
    adopt([figure])
    return figure


def adopt(figures: Sequence[Figure]) -> None:
    """Keep figures that were printed already, perhaps by another process."""
    _figures.extend(figures)
    path = os.environ.get(FILE_VARIABLE)
    if path:
        # Each time anew: a benchmark that fails later leaves what it had.
        write_report(Path(path), Report(describe_machine(), package_versions(), tuple(_figures)))


def sentence(figure: Figure) -> str:
    text = f"{figure.name}: {format_amount(figure.median, figure.unit)}"
    if figure.rival is not None:
        theirs = format_amount(statistics.median(figure.rival.samples), figure.unit)
        text += f", {figure.rival.name} {theirs}, ratio {figure.ratio:.3f}"
        text += f", of minima {figure.ratio_of_minima:.3f}"
    return text if figure.bound is None else f"{text} (at most {figure.bound:.3g})"
