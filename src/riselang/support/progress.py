"""Progress of tasks that take over two seconds: a transient line on standard error.

    with progress("measuring", total=25) as steps:
        for _ in range(25):
            ...
            steps.advance()

The line names the phases that `timed` runs inside of the block, unless it counts to a total. It is
shown on a terminal, in a notebook, or if `RISE_PROGRESS` is set; only the first of several
concurrent blocks is shown. `rich` is imported in a separate thread when the line is first drawn, so
short tasks cost nothing. The block must not print anything.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from riselang.support import config
from riselang.support.forking import after_fork_in_child
from riselang.support.profiling import Phases, track_phases

if TYPE_CHECKING:
    import rich.progress

DELAY = 2.0
"""Seconds before anything is shown."""
INTERVAL = 0.5
"""Seconds between updates of a plain line."""

_is_inside: ContextVar[bool] = ContextVar("inside of progress", default=False)
_line_lock = threading.Lock()
"""Held by the block whose line is on the screen."""


@after_fork_in_child
def _renew_lock() -> None:
    global _line_lock
    _line_lock = threading.Lock()


class Line(Protocol):
    """A line that shows the progress of steps."""

    def start(self) -> None: ...
    def refresh(self) -> None: ...
    def stop(self) -> None: ...


class Steps:
    """The progress of a task, whether or not it is shown."""

    def __init__(self, label: str, total: int | None, phases: Phases):
        self.total = total
        self.done = 0
        self.began = monotonic()
        self._label = label
        self._phases = phases
        self._is_closed = False
        self._lock = threading.Lock()
        self._line: Line | None = None

    @property
    def text(self) -> str:
        """The label and the current phases."""
        phases = self._phases.path if self.total is None else ()
        return ": ".join([self._label, *phases])

    def advance(self, label: str | None = None) -> None:
        """Complete a step; `label` describes the next one."""
        with self._lock:
            self.done += 1
            self._label = label or self._label
            if self._line is not None:
                self._line.refresh()

    def draw(self) -> None:
        """Show a line from now on, unless the task has ended."""
        line = _make_line(self)
        with self._lock:
            if not self._is_closed and _line_lock.acquire(blocking=False):
                line.start()
                self._line = line

    def close(self) -> None:
        """Remove the line."""
        with self._lock:
            self._is_closed = True
            if self._line is not None:
                self._line.stop()
                self._line = None
                _line_lock.release()


@contextmanager
def progress(label: str, total: int | None = None) -> Generator[Steps]:
    """Show the progress of a task, in `total` steps if that is known.

    Inside of another block nothing is shown; the outer line names the phases of the inner one.
    """
    if _is_inside.get() or not can_show_progress():
        yield Steps(label, total, Phases())
        return
    token = _is_inside.set(True)
    try:
        with track_phases() as phases:
            yield from _draw_after_delay(Steps(label, total, phases))
    finally:
        _is_inside.reset(token)


def _draw_after_delay(steps: Steps) -> Generator[Steps]:
    timer = threading.Timer(DELAY, steps.draw)
    timer.daemon = True
    timer.start()
    try:
        yield steps
    finally:
        timer.cancel()
        timer.join()
        steps.close()


def can_show_progress() -> bool:
    """Return whether to show progress: on a terminal, in a notebook, or if the setting says so."""
    setting, stream = config.progress_mode(), sys.stderr
    if setting == "auto":
        return _is_terminal(stream) or _is_notebook(stream)
    return setting == "1" and _is_open(stream)


def _is_open(stream: TextIO | None) -> bool:
    """Return whether a stream can be written; a process without a console has no standard error."""
    return stream is not None and not stream.closed


def _is_terminal(stream: TextIO | None) -> bool:
    return _is_open(stream) and cast(TextIO, stream).isatty()


def _is_notebook(stream: TextIO | None) -> bool:
    """Return whether the stream is the output of a notebook cell."""
    return type(stream).__module__.startswith("ipykernel.")


def _make_line(steps: Steps) -> Line:
    if _is_terminal(sys.stderr) and not _is_notebook(sys.stderr):
        return _rich_line(steps)
    return PlainLine(steps, sys.stderr)


class PlainLine:
    """A line for streams that support only the carriage return, such as notebooks and files."""

    def __init__(self, steps: Steps, stream: TextIO):
        self._steps = steps
        self._stream = stream
        self._text = ""
        self._end_event = threading.Event()
        self._thread = threading.Thread(target=self._refresh_periodically, daemon=True)

    def start(self) -> None:
        self.refresh()
        if self._steps.total is None:  # else completed steps redraw it
            self._thread.start()

    def refresh(self) -> None:
        steps = self._steps
        minutes, seconds = divmod(int(monotonic() - steps.began), 60)
        count = "" if steps.total is None else f" {steps.done}/{steps.total}"
        text = f"{steps.text}{count} {minutes}:{seconds:02}"
        if text != self._text:
            self._write(text)

    def stop(self) -> None:
        self._end_event.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._write("")
        self._write("")

    def _refresh_periodically(self) -> None:
        while not self._end_event.wait(INTERVAL):
            self.refresh()

    def _write(self, text: str) -> None:
        """Overwrite the line; writing "" twice leaves the cursor at its start."""
        self._stream.write("\r" + text.ljust(len(self._text)))
        self._stream.flush()
        self._text = text


def _rich_line(steps: Steps) -> Line:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Label(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(steps.text, no_wrap=True, overflow="ellipsis")

    has_end = steps.total is not None
    bar = (BarColumn(), TextColumn("{task.completed}/{task.total}")) if has_end else ()
    # With a total, completed steps redraw the line, so no thread runs during measurements.
    # By default, rich redirects standard output to the stream of the line, even from a file.
    drawn = Progress(
        SpinnerColumn(), Label(), *bar, TimeElapsedColumn(),
        console=Console(file=sys.stderr), auto_refresh=not has_end, transient=True,
        redirect_stdout=False, redirect_stderr=False, get_time=monotonic,
    )  # fmt: skip
    return RichLine(steps, drawn)


class RichLine:
    """A line that `rich` draws."""

    def __init__(self, steps: Steps, display: rich.progress.Progress):
        self._steps = steps
        self._display = display

    def start(self) -> None:
        self._display.add_task("", total=self._steps.total, completed=self._steps.done)
        self._display.tasks[0].start_time = self._steps.began
        self._display.start()

    def refresh(self) -> None:
        self._display.update(self._display.task_ids[0], completed=self._steps.done, refresh=True)

    def stop(self) -> None:
        self._display.stop()
