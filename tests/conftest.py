"""Which tests run and in which order; at the end, what was run, and how a failure is repeated."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from support.fuzzing import FUZZ_FRACTION, IS_NIGHTLY, Ran, first_seed, ways_to_repeat

# What is tested is the compiler; the tests of the cache ask for one of their own.
os.environ["RISE_CACHE"] = "0"
# JAX would take most of the memory of a GPU in each worker.
os.environ["JAX_PLATFORMS"] = "cpu"
# The tests have all cores themselves. A fuzz compiles its modules in parts, as is usual.
if not FUZZ_FRACTION:
    os.environ.setdefault("RISE_JOBS", "1")


@pytest.fixture
def ran(record_property: Callable[[str, object], None]) -> Ran:
    """Count what a test ran."""
    return lambda what, count: record_property("ran", [what, count])


def pytest_xdist_auto_num_workers() -> int:
    """As many workers as cores that this process may use, logical ones among them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The examples of hypothesis follow from the seed of the run, unless another one is given."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(first_seed())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what runs at night only, and start long tests first: at the end, others wait."""
    if not (IS_NIGHTLY or "nightly" in config.option.markexpr):
        deselected = {item for item in items if item.get_closest_marker("nightly")}
        if not config.option.keyword and not any("::" in each for each in config.args):
            chosen = [item for item in items if not is_fuzzed(item)]
            deselected |= unsampled_cases(chosen)
            if not any(each.endswith(".py") for each in config.args):
                deselected |= resting_cases(chosen)
        items[:] = [item for item in items if item not in deselected]
        config.hook.pytest_deselected(items=list(deselected))
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def is_fuzzed(item: pytest.Item) -> bool:
    """Whether a case is a batch of a fuzz, whose number of examples the user chose."""
    callspec = getattr(item, "callspec", None)
    return bool(FUZZ_FRACTION) and callspec is not None and "seeds" in callspec.params


def unsampled_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases of tests marked `sampled` that do not run; the seed chooses them."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    unsampled: set[pytest.Item] = set()
    for name, cases in tests.items():
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        surplus = max(0, len(cases) - marker.args[0])
        unsampled |= set(random.Random(f"{first_seed()} {name}").sample(cases, surplus))
    return unsampled


def resting_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases marked `rotating` that do not run with this seed."""
    resting: set[pytest.Item] = set()
    for item in items:
        if (marker := item.get_closest_marker("rotating")) is not None:
            name = item.nodeid.partition("::")[0] if marker.kwargs.get("by_file") else item.nodeid
            if random.Random(f"{first_seed()} {name}").randrange(marker.args[0]):
                resting.add(item)
    return resting


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
    terminalreporter.write_line(f"the first seed of random tests: {first_seed()}")
    failed = [
        report.nodeid
        for kind in ("failed", "error")
        for report in terminalreporter.stats.get(kind, ())
    ]
    if failed:
        terminalreporter.section("to repeat what failed")
    for command in ways_to_repeat(failed):
        terminalreporter.write_line(command)
