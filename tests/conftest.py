"""At the end of a run, how many random programs and broken texts it had."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest

from support.fuzzing import SHARE, Ran

# What is tested is the compiler; the tests of the cache ask for one of their own.
os.environ["RISE_CACHE"] = "0"
# The tests have all cores themselves. A fuzz compiles its modules in parts, as is usual.
if not SHARE:
    os.environ.setdefault("RISE_JOBS", "1")


@pytest.fixture
def ran(record_property: Callable[[str, object], None]) -> Ran:
    """Count what a test ran."""
    return lambda what, count: record_property("ran", [what, count])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for name, value in getattr(report, "user_properties", ()):
                if name == "ran":
                    totals[value[0]] += value[1]
    for what, count in sorted(totals.items()):
        terminalreporter.write_line(f"{count:>7,} {what}")
