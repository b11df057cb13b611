"""`rise bench`: measure the time of a program, alone or compared with others."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.progress import progress
from riselang.tools.figures import (
    SECONDS,
    Figure,
    Report,
    Rival,
    format_amount,
    quartiles,
    write_report,
)
from riselang.tools.options import parse_count
from riselang.tools.tables import format_table

if TYPE_CHECKING:
    from riselang.tools.bench_programs import BenchProgram

GROUP = "rise bench"
ROUNDS = 25
Samples = Sequence[tuple[float, ...]]
"""The seconds per call of each program, one sample per iteration."""


def add_bench_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--against", action="append", default=[], metavar="FILE[:FUNCTION]",
        help="another program to compare with, on the same inputs and interleaved; repeatable",
    )  # fmt: skip
    command.add_argument(
        "--rounds", type=parse_count, default=ROUNDS, help=f"samples per program; default: {ROUNDS}"
    )
    command.add_argument("--json", metavar="OUT", help="write the measurements to a JSON file")


def bench(options: argparse.Namespace) -> None:
    """Run the command `rise bench`."""
    output = None if options.json is None else Path(options.json)
    if output is not None and not output.parent.is_dir():
        raise UserError(f"{output} cannot be written: {output.parent} is not a folder")
    programs = _prepare_programs(options)
    samples = _measure(programs, options.rounds)
    print(_format_results(programs, samples), end="")
    _report_differing_results(programs)
    if output is not None:
        from riselang.tools.machine_info import describe_machine, package_versions

        write_report(
            output, Report(describe_machine(), package_versions(), _figures(programs, samples))
        )


def _prepare_programs(options: argparse.Namespace) -> list[BenchProgram]:
    from riselang.tools.bench_programs import prepare_program

    selections = [(options.file, options.function), *map(_file_and_function, options.against)]
    if any(file.endswith(".py") for file, _ in selections):
        # Reading a Python file runs it, and it may print something.
        return [prepare_program(file, function, options) for file, function in selections]
    programs: list[BenchProgram] = []
    with progress("compiling", len(selections)) as steps:
        for file, function in selections:
            programs.append(prepare_program(file, function, options))
            steps.advance()
    return programs


def _file_and_function(text: str) -> tuple[str, str | None]:
    file, colon, function = text.rpartition(":")
    return (file, function) if colon and function.isidentifier() else (text, None)


def _measure(programs: Sequence[BenchProgram], rounds: int) -> Samples:
    from riselang.support.benchmarking import (
        calls_per_sample,
        round_count,
        seconds_per_call,
        time_interleaved,
    )

    for program in programs:
        program.call()
    rivals = [(each.call, calls_per_sample(seconds_per_call(each.call))) for each in programs]
    one_round = sum(seconds_per_call(call, calls) * calls for call, calls in rivals)
    rounds = round_count(one_round, rounds)
    with progress("measuring", rounds) as steps:
        return time_interleaved(rivals, rounds, steps.advance)


def _format_results(programs: Sequence[BenchProgram], samples: Samples) -> str:
    """Format a row for each program, with ratios to the first program and known rates."""
    first = statistics.median(samples[0])
    has_counts = all(program.work.operations is not None for program in programs)
    rows: list[list[str]] = []
    for program, times in zip(programs, samples, strict=True):
        median, (low, high) = statistics.median(times), quartiles(times)
        spread = f"{format_amount(low, SECONDS)} .. {format_amount(high, SECONDS)}"
        row = [program.label, format_amount(median, SECONDS), spread, f"{median / first:.3f}"]
        if has_counts:
            row.append(f"{(program.work.operations or 0) / median / 1e9:.3g}")
        rows.append([*row, f"{program.work.bytes / median / 1e9:.3g}"])
    rates = ["GFLOP/s", "GB/s"] if has_counts else ["GB/s"]
    heading = f"{programs[0].name}, {format_count(len(samples[0]), 'round')}"
    return format_table([heading, "median", "quartiles", "ratio", *rates], rows)


def _report_differing_results(programs: Sequence[BenchProgram]) -> None:
    from riselang.tools.bench_programs import have_equal_results

    first, *other_programs = programs
    for other in other_programs:
        if not have_equal_results(first, other):
            print(f"note: the results of {other.label} differ from those of {first.label}",
                  file=sys.stderr)  # fmt: skip


def _figures(programs: Sequence[BenchProgram], samples: Samples) -> tuple[Figure, ...]:
    """Return one figure for each rival, or a single figure without a rival."""
    name, ours = programs[0].name, samples[0]
    rivals = [Rival(each.label, times) for each, times in zip(programs, samples, strict=True)][1:]
    return tuple(Figure(GROUP, name, ours, SECONDS, rival) for rival in rivals or [None])
