"""`rise doctor`: is everything there, and does it work?

Exit codes: 0 all is well, 1 something is broken.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Sequence
from typing import IO

from riselang.support.errors import RiseError
from riselang.support.progress import Steps, progress
from riselang.tools.exits import FAILED
from riselang.tools.findings import Check, Finding, State

SELF_TEST = [sys.executable, "-P", "-m", "riselang.tools.self_test"]
"""-P: no file in the folder we are in is taken for a module."""
LONGEST = 60.0
"""Seconds after which a self-test hangs; it takes two on a machine that has nothing else to do."""
REPORT = "if this stays after installing riselang again, please report it with all of this page"
WIDTH = 100


def doctor(options: argparse.Namespace) -> None:
    """The command `rise doctor`."""
    from riselang.tools.checks import CHECKS

    findings = [finding for check in CHECKS for finding in _looked_at(check)]
    for finding in findings:
        print(_shown(finding))
    sys.stdout.flush()
    tests = self_tests()
    for finding in tests:
        print(_shown(finding))
    broken = [each for each in (*findings, *tests) if each.state is State.BROKEN]
    if broken:
        names = ", ".join(finding.name for finding in broken)
        print(f"broken: {names}")
        raise SystemExit(FAILED)
    print("all is well")


def _looked_at(check: Check) -> list[Finding]:
    """What a check finds; if it fails, that is what was found."""
    try:
        return list(check())
    except RiseError as error:
        return [Finding(check.__name__, State.BROKEN, error.message)]
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return [Finding(check.__name__, State.BROKEN, detail, REPORT)]


def _shown(finding: Finding) -> str:
    head = f"{finding.state.value:8}{finding.name:20}"
    text = textwrap.fill(
        finding.detail, WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return f"{text}\n{' ' * 8}-> {finding.advice}" if finding.advice else text


def self_tests() -> list[Finding]:
    """A finding for each back end; those behind one that ended its process get a new one."""
    from riselang.tools.self_test import BACK_ENDS

    waiting = list(BACK_ENDS)
    found: list[Finding] = []
    with progress("testing every back end", len(waiting)) as steps:
        while waiting:
            tested = _tested(waiting, steps)
            found += tested
            waiting = waiting[len(tested) :]
    return found


def _tested(names: Sequence[str], steps: Steps) -> list[Finding]:
    """Findings of one process: all that it reports, and its end if that comes too early."""
    found: list[Finding] = []
    command = [*SELF_TEST, *names]
    with tempfile.TemporaryFile("w+", errors="replace") as errors, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:  # fmt: skip
        watchdog = threading.Timer(LONGEST, process.kill)
        watchdog.start()
        try:
            for line in process.stdout or ():
                if line.startswith("["):  # libraries may print something, too
                    found.append(_finding(*json.loads(line)))
                    steps.advance()
            process.wait()
        finally:
            watchdog.cancel()
        if len(found) < len(names):
            found.append(_finding(names[len(found)], _end(process.returncode, errors), 0.0))
            steps.advance()
    return found


def _finding(name: str, problem: str | None, seconds: float) -> Finding:
    if problem is None:
        return Finding(name, State.OK, f"agrees with numpy, {seconds:.2f} s")
    return Finding(name, State.BROKEN, problem, REPORT)


def _end(code: int, errors: IO[str]) -> str:
    """Why a process ended before its time."""
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}, or took {LONGEST:.0f} s"
    errors.seek(0)
    lines = errors.read().strip().splitlines() or ["it says nothing"]
    return f"the process ended with exit code {code}: {lines[-1]}"
