"""`rise benchcmp`: compare two benchmark reports."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.support.errors import UserError
from riselang.tools.exits import FAILED
from riselang.tools.figures import Report, format_amount, read_report
from riselang.tools.options import parse_positive
from riselang.tools.tables import format_table

if TYPE_CHECKING:
    from riselang.tools.report_comparison import Change


def add_benchcmp_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("old", metavar="OLD.json", help="a report of make bench or rise bench")
    command.add_argument("new", metavar="NEW.json", help="a newer report")
    command.add_argument(
        "--fail-above", type=parse_positive, metavar="RATIO",
        help="exit with code 1 if a figure exceeds RATIO times its old value, beyond noise",
    )  # fmt: skip


def benchcmp(options: argparse.Namespace) -> None:
    """Run the command `rise benchcmp`."""
    from riselang.tools.report_comparison import compare_reports

    old, new = read_report(Path(options.old)), read_report(Path(options.new))
    changes = compare_reports(old, new)
    if not changes:
        raise UserError(f"{options.old} and {options.new} have no figure in common")
    print(_format_changes(changes), end="")
    print(_format_summary(changes), end="")
    _report_differences(old, new)
    limit: float | None = options.fail_above
    failed = [change for change in changes if limit is not None and change.exceeds(limit)]
    for change in failed:
        print(f"{change.new.group}: {change.new.name} takes {change.ratio:.3f} times as long; "
              f"{limit} is allowed", file=sys.stderr)  # fmt: skip
    if failed:
        raise SystemExit(FAILED)


def _format_changes(changes: Sequence[Change]) -> str:
    rows = [
        [
            f"{change.new.group}: {change.new.name}",
            format_amount(change.old.median, change.old.unit),
            format_amount(change.new.median, change.new.unit),
            f"{change.ratio:.3f}",
            "-" if change.interval is None else "{:.3f} .. {:.3f}".format(*change.interval),
            change.verdict.value,
        ]
        for change in changes
    ]
    return format_table(["figure", "old", "new", "ratio", "interval", ""], rows)


def _format_summary(changes: Sequence[Change]) -> str:
    from riselang.tools.report_comparison import MIN_SAMPLES, Verdict

    counts = Counter(change.verdict for change in changes)
    text = f"{counts[Verdict.SLOWER]} slower, {counts[Verdict.FASTER]} faster, "
    text += f"{counts[Verdict.SAME]} the same within noise"
    if counts[Verdict.UNKNOWN]:
        text += f", {counts[Verdict.UNKNOWN]} with fewer than {MIN_SAMPLES} samples (?)"
    return text + "\n"


def _report_differences(old: Report, new: Report) -> None:
    """Print differences that make times hard to compare to standard error."""
    from riselang.tools.report_comparison import figures_by_name

    if old.machine != new.machine:
        print("note: the reports are from different machines", file=sys.stderr)
    old_figures, new_figures = figures_by_name(old), figures_by_name(new)
    for figures, other_figures, name in (
        (old_figures, new_figures, "old"),
        (new_figures, old_figures, "new"),
    ):
        alone = [
            f"{group}: {figure}"
            for group, figure, _ in figures
            if (group, figure, _) not in other_figures
        ]
        if alone:
            print(f"note: only in the {name} report: {', '.join(alone)}", file=sys.stderr)
