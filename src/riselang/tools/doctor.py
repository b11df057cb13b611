"""`rise doctor`: check that riselang and its dependencies are installed and work.

Exit codes: 0 no problems found, 1 something is broken.
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

from riselang.support import config
from riselang.support.errors import RiseError, UserError
from riselang.support.progress import Steps, progress
from riselang.tools.doctor_findings import Check, Finding, State, format_caches
from riselang.tools.exits import FAILED

SELF_TEST = [sys.executable, "-P", "-m", "riselang.tools.self_test"]
"""With -P, files in the current folder cannot shadow modules."""
TIMEOUT = 60.0
"""The timeout of the self-tests in seconds; they take two on an idle machine."""
REPORT = "if this remains after reinstalling riselang, please report it with all of this output"
WIDTH = 100


def doctor(options: argparse.Namespace) -> None:
    """Run the command `rise doctor`."""
    from riselang.tools.doctor_checks import CHECKS

    if options.measure:
        _measure()
        return
    if options.forget:
        _forget()
        return
    findings = [finding for check in CHECKS for finding in _run_check(check)]
    for finding in findings:
        print(_format_finding(finding))
    sys.stdout.flush()
    tests = run_self_tests()
    for finding in tests:
        print(_format_finding(finding))
    broken = [each for each in (*findings, *tests) if each.state is State.BROKEN]
    if broken:
        names = ", ".join(finding.name for finding in broken)
        print(f"broken: {names}")
        raise SystemExit(FAILED)
    print("no problems found")


def add_doctor_options(command: argparse.ArgumentParser) -> None:
    actions = command.add_mutually_exclusive_group()
    actions.add_argument(
        "--measure",
        action="store_true",
        help="measure the caches, the arithmetic and the memory bandwidth of this machine, and "
        "keep the results, which strategies and cost models use; takes some seconds, on an "
        "otherwise idle machine",
    )
    actions.add_argument("--forget", action="store_true", help="remove the results of --measure")


def _measure() -> None:
    """Measure this machine, and keep and print the results."""
    from riselang.support.machine import measurement_path, write_measurement
    from riselang.tools.machine_measurement import as_measurement, measure_machine

    figures = measure_machine()
    measurement = as_measurement(figures)
    try:
        write_measurement(measurement)
    except OSError as error:
        raise UserError(
            f"the results cannot be written to {measurement_path()}: {error.strerror}; set "
            f"{config.CACHE_DIR.variable} to a folder that you can write to"
        ) from None
    rates = (
        ("clock", f"{figures.clock / 1e9:.2f} GHz"),
        ("arithmetic", f"{figures.operations / 1e9:.1f} Gflop/s on f32 per core, or "
         f"{measurement.vector_fmas_per_cycle:g} vector multiply-adds per cycle"),
        ("memory", f"{figures.bandwidth / 1e9:.1f} GB/s read and written by one core, or "
         f"{measurement.bytes_per_cycle:g} bytes per cycle"),
        ("nontemporal", f"a large stencil is {measurement.nontemporal_speedup:g} times as fast "
         "with nontemporal stores"),
        ("gathers", f"a vector of elements is gathered {measurement.gather_speedup:g} times as "
         "fast by one instruction as by loads of its elements"),
        ("caches", format_caches(measurement.caches)),
    )  # fmt: skip
    for name, detail in rates:
        print(_format_finding(Finding(name, State.OK, detail)))
    print(f"kept in {measurement_path()}")


def _forget() -> None:
    from riselang.support.machine import measurement_path, remove_measurement

    removed = remove_measurement()
    print(f"removed {measurement_path()}" if removed else "there is no measurement")


def _run_check(check: Check) -> list[Finding]:
    """Run a check; an exception is reported as a finding."""
    try:
        return list(check())
    except RiseError as error:
        return [Finding(check.__name__, State.BROKEN, error.message)]
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return [Finding(check.__name__, State.BROKEN, detail, REPORT)]


def _format_finding(finding: Finding) -> str:
    head = f"{finding.state.value:8}{finding.name:20}"
    text = textwrap.fill(
        finding.detail, WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return f"{text}\n{' ' * 8}-> {finding.advice}" if finding.advice else text


def run_self_tests() -> list[Finding]:
    """Test each back end; if one crashes its process, the rest are tested in a new process."""
    from riselang.tools.self_test import BACK_ENDS

    waiting = list(BACK_ENDS)
    findings: list[Finding] = []
    with progress("testing every back end", len(waiting)) as steps:
        while waiting:
            tested = _run_test_process(waiting, steps)
            findings += tested
            waiting = waiting[len(tested) :]
    return findings


def _run_test_process(names: Sequence[str], steps: Steps) -> list[Finding]:
    """Run the tests in one process; return its reports, and a finding if it ends too early."""
    findings: list[Finding] = []
    command = [*SELF_TEST, *names]
    with tempfile.TemporaryFile("w+", errors="replace") as errors, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:  # fmt: skip
        watchdog = threading.Timer(TIMEOUT, process.kill)
        watchdog.start()
        try:
            for line in process.stdout or ():
                if line.startswith("["):  # libraries may print something, too
                    findings.append(_finding(*json.loads(line)))
                    steps.advance()
            process.wait()
        finally:
            watchdog.cancel()
        if len(findings) < len(names):
            findings.append(
                _finding(names[len(findings)], _exit_reason(process.returncode, errors), 0.0)
            )
            steps.advance()
    return findings


def _finding(name: str, problem: str | None, seconds: float) -> Finding:
    if problem is None:
        return Finding(name, State.OK, f"agrees with NumPy, {seconds:.2f} s")
    return Finding(name, State.BROKEN, problem, REPORT)


def _exit_reason(code: int, errors: IO[str]) -> str:
    """Return why a process ended early."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}, or by the timeout of {TIMEOUT:.0f} s"
    errors.seek(0)
    lines = errors.read().strip().splitlines() or ["no output"]
    return f"the process ended with exit code {code}: {lines[-1]}"
