"""Profiling: a tree of named spans of time.

    with recording("rise run") as root:
        with timed("read"):
            ...
    print(tree(root))

Outside of `recording` and `following`, `timed` returns an object that does nothing, so it may be
used anywhere except in innermost loops. Each thread records its own spans: a span belongs to the
thread that began it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from riselang.support.forking import after_fork_in_child


@dataclass
class Span:
    """The total time of all runs of a named activity, and its parts by name."""

    name: str
    seconds: float = 0.0
    children: dict[str, Span] = field(default_factory=dict[str, "Span"])

    @property
    def own_seconds(self) -> float:
        """The time that no part accounts for."""
        return self.seconds - sum(part.seconds for part in self.children.values())


class Phases:
    """The names of the spans that are running now, outermost first."""

    path: tuple[str, ...] = ()


_CURRENT: ContextVar[Span | None] = ContextVar("riselang_span", default=None)
_PHASES: ContextVar[Phases | None] = ContextVar("riselang_phases", default=None)
_NO_SPAN: AbstractContextManager[None] = nullcontext()
_lock = threading.Lock()
"""Protects spans that are shared with threads that run in a copy of the context."""


@after_fork_in_child
def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


def time_span(name: str) -> AbstractContextManager[None]:
    """Add the time of a `with` block to the span of that name, if spans are being recorded."""
    parent, phases = _CURRENT.get(), _PHASES.get()
    if phases is not None:
        return _track_phase(phases, name, parent)
    if parent is not None:
        return _run_span(_child_span(parent, name))
    return _NO_SPAN


def add_time(name: str, seconds: float) -> None:
    """Add time to a span, for code that cannot be in a `with` block."""
    parent = _CURRENT.get()
    if parent is not None:
        _add(_child_span(parent, name), seconds)


def is_recording() -> bool:
    """Return whether spans are being recorded, so that steps should be timed one by one."""
    return _CURRENT.get() is not None


@contextmanager
def record_spans(name: str) -> Generator[Span]:
    """Record the spans that this thread times inside of the block."""
    root = Span(name)
    with _run_span(root):
        yield root


@contextmanager
def track_phases() -> Generator[Phases]:
    """Track the names of the spans that this thread is running inside of the block."""
    phases = Phases()
    token = _PHASES.set(phases)
    try:
        yield phases
    finally:
        _PHASES.reset(token)


@contextmanager
def _track_phase(phases: Phases, name: str, parent: Span | None) -> Generator[None]:
    outer = phases.path
    phases.path = (*outer, name)
    try:
        with _NO_SPAN if parent is None else _run_span(_child_span(parent, name)):
            yield
    finally:
        phases.path = outer


@contextmanager
def _run_span(span: Span) -> Generator[None]:
    token = _CURRENT.set(span)
    start = time.perf_counter()
    try:
        yield
    finally:
        _add(span, time.perf_counter() - start)
        _CURRENT.reset(token)


def _child_span(parent: Span, name: str) -> Span:
    return parent.children.setdefault(name, Span(name))


def _add(span: Span, seconds: float) -> None:
    with _lock:
        span.seconds += seconds


SMALLEST_REST = 0.005
"""The smallest fraction of the total for which unnamed time is printed."""


def format_spans(root: Span) -> str:
    """Format the spans as a tree with milliseconds and percentages."""
    rows = list(_span_rows(root, "", "", root.seconds))
    width = max(len(label) for label, _ in rows)
    total = root.seconds or 1.0
    return "".join(
        f"{label:{width}}  {seconds * 1e3:9.2f} ms  {seconds / total:6.1%}\n"
        for label, seconds in rows
    )


def _span_rows(span: Span, head: str, margin: str, total: float) -> Iterator[tuple[str, float]]:
    """Yield labels with the lines of the tree, and seconds; `margin` precedes the parts."""
    yield head + span.name, span.seconds
    parts = list(span.children.values())
    if parts and span.own_seconds > SMALLEST_REST * total:
        parts.append(Span("(other)", span.own_seconds))
    for part in parts:
        is_last = part is parts[-1]
        joint, line = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _span_rows(part, margin + joint, margin + line, total)
