"""Calling the tools, and what every call must end with."""

from __future__ import annotations

import io
import re
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 20.0
"""How long a tool may take, in seconds of the CPU: far more than it needs on a slow machine, so
that only hangs exceed it."""
Tool = Callable[[Sequence[str]], None]


class TooLong(BaseException):
    """A tool took more than its time; no handler of the tool takes this for an error of its own."""


@dataclass(frozen=True)
class Outcome:
    """How a call of a tool ended."""

    code: int
    errors: str

    def check(self, path: Path) -> None:
        """The file was taken, or refused with a place in it."""
        assert "Traceback" not in self.errors
        assert self.code in (0, 1), self.errors
        if self.code == 1:
            place = rf"{re.escape(str(path))}:[1-9]\d*:[1-9]\d*: error: \S"
            assert re.match(place, self.errors), self.errors


def called(tool: Tool, arguments: Sequence[str]) -> Outcome:
    """Call a tool in this process."""
    errors, output = io.StringIO(), io.TextIOWrapper(io.BytesIO())
    code: Any = 0
    with limited(SECONDS), redirect_stdout(output), redirect_stderr(errors):
        try:
            tool(arguments)
        except SystemExit as exit:
            code = exit.code
    return Outcome(code, errors.getvalue())


@contextmanager
def limited(seconds: float) -> Generator[None]:
    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds} seconds")

    # In the time of this process, so that others on the machine do not count.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
