"""A pytest plugin that writes down which tests begin and which fail, even if the process dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FILE = "RISE_FAULTS_RECORD"
"""The environment variable with the path of the record."""
BEGAN, FAILED = "began ", "failed "


def _record(line: str) -> None:
    with Path(os.environ[FILE]).open("a") as record:
        record.write(f"{line}\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    _record(f"{BEGAN}{nodeid}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _record(f"{FAILED}{report.nodeid}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _record(f"{FAILED}{report.nodeid}")
