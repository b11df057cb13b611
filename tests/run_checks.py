"""Run make targets beside each other: the first is shown as it prints, the others where they fail.

    python tests/run_checks.py unit types filecheck then faults

What comes after `then` starts when all before has ended. What failed is shown at the end, and the
exit status says whether something did.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import IO

THEN = "then"


@dataclass
class Check:
    """A target that runs."""

    target: str
    process: subprocess.Popen[bytes]
    output: IO[bytes] | None
    """Where its output is kept; none where it is shown as it is printed."""
    started: float
    seconds: float = 0.0

    @staticmethod
    def start(target: str, *, is_shown: bool) -> Check:
        output = None if is_shown else tempfile.TemporaryFile()  # noqa: SIM115
        command = [os.environ.get("MAKE", "make"), "--no-print-directory", target]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        return Check(target, process, output, time.monotonic())

    def has_ended(self) -> bool:
        if self.process.poll() is None:
            return False
        self.seconds = self.seconds or time.monotonic() - self.started
        return True

    def show(self) -> None:
        """Print what the target printed, if that was kept."""
        if self.output is None:
            return
        print(f"\n== make {self.target}", flush=True)
        self.output.seek(0)
        sys.stdout.buffer.write(self.output.read())
        sys.stdout.flush()

    def verdict(self) -> str:
        word = "passed" if self.process.returncode == 0 else "FAILED"
        return f"{word:>8} make {self.target} ({self.seconds:.0f} s)"


def run_beside_each_other(targets: list[str]) -> list[Check]:
    """Run targets to their ends, also where one of them fails."""
    checks = [Check.start(target, is_shown=not at) for at, target in enumerate(targets)]
    try:
        while sum(check.has_ended() for check in checks) < len(checks):
            time.sleep(0.1)
    except KeyboardInterrupt:
        for check in checks:
            check.process.wait()
        raise
    return checks


def groups(words: list[str]) -> list[list[str]]:
    """The targets that run at the same time."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == THEN:
            found.append([])
        else:
            found[-1].append(word)
    return found


def main(words: list[str]) -> int:
    # The jobs and variables of the make that started this are not for those that it starts.
    os.environ.pop("MAKEFLAGS", None)
    try:
        checks = [check for group in groups(words) for check in run_beside_each_other(group)]
    except KeyboardInterrupt:
        return 130
    failed = [check for check in checks if check.process.returncode]
    for check in failed:
        check.show()
    print()
    for check in checks:
        print(check.verdict())
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
