"""Where the time goes: a tree of named spans.

    with recording("rise run") as root:
        with timed("read"):
            ...
    print(tree(root))

Outside of `recording` and `following`, `timed` gives one object that does nothing, so it may stand
anywhere but in the innermost loops. Each thread records for itself: a span belongs to the one that
began it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from riselang.support.forking import after_in_child


@dataclass
class Span:
    """Something that took time, in all the runs of it, and its parts by name."""

    name: str
    seconds: float = 0.0
    parts: dict[str, Span] = field(default_factory=dict[str, "Span"])

    @property
    def rest(self) -> float:
        """The time that no part accounts for."""
        return self.seconds - sum(part.seconds for part in self.parts.values())


class Phases:
    """What is running now, for who follows it: names of spans, the outermost first."""

    path: tuple[str, ...] = ()


_CURRENT: ContextVar[Span | None] = ContextVar("riselang_span", default=None)
_PHASES: ContextVar[Phases | None] = ContextVar("riselang_phases", default=None)
_NOTHING: AbstractContextManager[None] = nullcontext()
_lock = threading.Lock()
"""For threads that run in a copy of the context, and so add to the same spans."""


@after_in_child
def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


def timed(name: str) -> AbstractContextManager[None]:
    """Adds the time of a `with` block to the span of that name, if anybody asked for it."""
    parent, phases = _CURRENT.get(), _PHASES.get()
    if phases is not None:
        return _followed(phases, name, parent)
    if parent is not None:
        return _running(_part(parent, name))
    return _NOTHING


def add_time(name: str, seconds: float) -> None:
    """For what began and ended where no `with` block can stand."""
    parent = _CURRENT.get()
    if parent is not None:
        _add(_part(parent, name), seconds)


def is_recording() -> bool:
    """Whether somebody wants to know, so that it may be worth to do things one by one."""
    return _CURRENT.get() is not None


@contextmanager
def recording(name: str) -> Generator[Span]:
    """A span that collects those that are timed inside, in this thread."""
    root = Span(name)
    with _running(root):
        yield root


@contextmanager
def following() -> Generator[Phases]:
    """The names of what is timed inside, in this thread, as long as each runs."""
    phases = Phases()
    token = _PHASES.set(phases)
    try:
        yield phases
    finally:
        _PHASES.reset(token)


@contextmanager
def _followed(phases: Phases, name: str, parent: Span | None) -> Generator[None]:
    outer = phases.path
    phases.path = (*outer, name)
    try:
        with _NOTHING if parent is None else _running(_part(parent, name)):
            yield
    finally:
        phases.path = outer


@contextmanager
def _running(span: Span) -> Generator[None]:
    token = _CURRENT.set(span)
    start = time.perf_counter()
    try:
        yield
    finally:
        _add(span, time.perf_counter() - start)
        _CURRENT.reset(token)


def _part(parent: Span, name: str) -> Span:
    return parent.parts.setdefault(name, Span(name))


def _add(span: Span, seconds: float) -> None:
    with _lock:
        span.seconds += seconds


SMALLEST_REST = 0.005
"""The share of the whole from which on time without a name is shown."""


def tree(root: Span) -> str:
    """The spans as text: milliseconds, and the share of the whole."""
    rows = list(_rows(root, "", "", root.seconds))
    width = max(len(label) for label, _ in rows)
    whole = root.seconds or 1.0
    return "".join(
        f"{label:{width}}  {seconds * 1e3:9.2f} ms  {seconds / whole:6.1%}\n"
        for label, seconds in rows
    )


def _rows(span: Span, head: str, margin: str, whole: float) -> Iterator[tuple[str, float]]:
    """Labels with the lines of the tree, and seconds; `margin` stands before the parts."""
    yield head + span.name, span.seconds
    parts = list(span.parts.values())
    if parts and span.rest > SMALLEST_REST * whole:
        parts.append(Span("(other)", span.rest))
    for part in parts:
        is_last = part is parts[-1]
        joint, line = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _rows(part, margin + joint, margin + line, whole)
