"""Progress, for what takes over two seconds: a line on standard error that is gone afterwards.

    with progress("measuring", total=25) as steps:
        for _ in range(25):
            ...
            steps.advance()

Only on a terminal. rich is imported when the line is first drawn, in a thread of its own, so that
commands that end before cost nothing. Nothing may be printed inside of the block.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

DELAY = 2.0
"""Seconds before anything is shown."""


class Steps:
    """How far something has come; nobody need be looking."""

    def __init__(self, label: str, total: int | None):
        self._label = label
        self._total = total
        self._done = 0
        self._began = time.monotonic()  # rich's clock, too
        self._is_over = False
        self._lock = threading.Lock()
        self._drawn: rich.progress.Progress | None = None

    def advance(self, label: str | None = None) -> None:
        """A step is done; `label` is what comes now."""
        with self._lock:
            self._done += 1
            self._label = label or self._label
            if self._drawn is not None:
                task = self._drawn.task_ids[0]
                self._drawn.update(
                    task, completed=self._done, description=self._label, refresh=True
                )

    def draw(self) -> None:
        """Show a line from now on, unless all is over."""
        line = _line(has_end=self._total is not None)
        with self._lock:
            if not self._is_over:
                line.add_task(self._label, total=self._total, completed=self._done)
                line.tasks[0].start_time = self._began
                line.start()
                self._drawn = line

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            self._is_over = True
            if self._drawn is not None:
                self._drawn.stop()


@contextmanager
def progress(label: str, total: int | None = None) -> Generator[Steps]:
    """Steps to advance, of `total` where it is known how many there are."""
    steps = Steps(label, total)
    if not sys.stderr.isatty():
        yield steps
        return
    timer = threading.Timer(DELAY, steps.draw)
    timer.daemon = True
    timer.start()
    try:
        yield steps
    finally:
        timer.cancel()
        timer.join()
        steps.close()


def _line(has_end: bool) -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = (BarColumn(), TextColumn("{task.completed}/{task.total}")) if has_end else ()
    # A line with an end is drawn when a step is done, and by no thread that runs while we measure.
    # rich would send standard output where the line goes, even if that is a file of its own.
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar, TimeElapsedColumn(),
        console=Console(stderr=True), auto_refresh=not has_end, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
