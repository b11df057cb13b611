"""Prints one table of the comparisons with rivals, each figure with its bound.

    python benchmarks/table.py [--missed] [--threads 1 8 16] [NAME ...]

Programs run on one thread; matrix products, if they are measured, also on the other numbers of
threads, as far as there are cores. Each benchmark runs in its own process. Ratios are our time
relative to the rival's, by medians and by minima. With `--missed`, only figures whose ratio of
medians exceeds the bound are printed.
"""

from __future__ import annotations

import argparse
import os

from rivals import THREAD_POOLS, THREADS_VARIABLE
from run import run

from riselang.tools.figures import Figure, format_amount

NAMES = (
    "blas", "dot_units", "stencils", "images", "sorting", "selection", "array_programs",
    "model_ops", "transposes", "c_medium", "dynamic_sizes",
)  # fmt: skip
THREADED = ("blas",)
"""The benchmarks that are also measured on several threads."""
HEADER = "| benchmark | figure | ours | rival | theirs | medians | minima | at most |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare programs with rivals.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--missed", action="store_true", help="print only ratios above the bound")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 8, 16], metavar="COUNT")
    options = parser.parse_args()
    names = options.names or NAMES
    figures: list[Figure] = []
    for count in options.threads:
        if count <= (os.cpu_count() or 1):
            set_threads(count)
            measured = names if count == 1 else [each for each in names if each in THREADED]
            figures += [figure for name in measured for figure in run(name)[1]]
    print(HEADER, "|---|---|---:|---|---:|---:|---:|---:|", sep="\n")
    for figure in figures:
        if figure.rival is not None and (is_missed(figure) or not options.missed):
            print(row(figure))


def set_threads(count: int) -> None:
    """Set the number of threads of the benchmarks that run from now on."""
    names = (*(f"{pool}_NUM_THREADS" for pool in THREAD_POOLS), THREADS_VARIABLE)
    os.environ |= dict.fromkeys(names, str(count))


def is_missed(figure: Figure) -> bool:
    return bool(figure.bound and figure.ratio and figure.ratio > figure.bound)


def row(figure: Figure) -> str:
    assert figure.rival is not None
    theirs = Figure(figure.group, figure.rival.name, figure.rival.samples, figure.unit)
    amounts = [format_amount(each.median, each.unit) for each in (figure, theirs)]
    ratios = f"{figure.ratio:.3f} | {figure.ratio_of_minima:.3f}"
    bound = "" if figure.bound is None else f"{figure.bound:.3g}"
    mark = "**" if is_missed(figure) else ""
    cells = [figure.group, figure.name, amounts[0], theirs.name, amounts[1], ratios]
    return f"| {' | '.join(cells)} | {mark}{bound}{mark} |"


if __name__ == "__main__":
    main()
