"""Safe forks of a process in which another thread compiles.

The child of a fork has one thread and a copy of all memory. A lock that another thread holds, in
Python, in an import or inside LLVM and MLIR, would be held forever in the child. So a fork waits
until the other threads have left the compiler:

    with hold_forks():
        ...

Sections may be nested. A thread that is about to enter one waits for a pending fork, so threads
that compile continuously do not starve it; therefore locks are acquired inside sections, never
around them. Locks that are held only briefly outside of sections are reset in the child
(`after_fork_in_child`). A thread that works for another one, in a copy of its context, belongs to
the sections of that thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from functools import cache
from threading import Condition, get_ident
from typing import Any

LONGEST_WAIT = 300.0
"""Seconds after which a fork proceeds: the compiling thread may be waiting for the forking one."""


_owner: ContextVar[int | None] = ContextVar("owner of sections", default=None)
"""The thread that entered the outermost section."""


def _thread() -> int:
    """Return the identifier of this thread, or of the one that it works for."""
    return _owner.get() or get_ident()


class _Sections:
    """The threads in sections, and the thread that forks."""

    def __init__(self) -> None:
        self.condition = Condition()
        self.depths: dict[int, int] = {}
        self.forking: int | None = None
        self.foreign_locks: list[tuple[Callable[[], object], Callable[[], object]]] = []
        """How to acquire and release locks of other libraries, which a fork must hold."""

    def enter(self) -> None:
        watch_forks()
        thread = _thread()
        with self.condition:
            while self.forking is not None and thread not in self.depths:
                self.condition.wait()
            self.depths[thread] = self.depths.get(thread, 0) + 1
        _owner.set(thread)

    def leave(self) -> None:
        thread = _thread()
        with self.condition:
            depth = self.depths.pop(thread) - 1
            if depth:
                self.depths[thread] = depth
                return
            self.condition.notify_all()
        _owner.set(None)

    def wait_for_others(self) -> None:
        """Wait until this thread may fork; no other thread enters a section until it has."""
        thread = _thread()
        with self.condition:
            if self.forking == thread:
                return
            self.condition.wait_for(lambda: self.forking is None)
            self.forking = thread
            self.condition.wait_for(lambda: not self.depths.keys() - {thread}, LONGEST_WAIT)
        for acquire, _ in self.foreign_locks:
            acquire()

    def resume(self) -> None:
        with self.condition:
            if self.forking == _thread():
                self._release()
                self.forking = None
                self.condition.notify_all()

    def _release(self) -> None:
        for _, release in reversed(self.foreign_locks):
            release()

    def reset_in_child(self) -> None:
        """Reset the state in the child, where the thread that forked is the only one."""
        if self.forking is None:
            return
        self._release()
        self.condition = Condition()
        self.forking = None
        self.depths = {each: depth for each, depth in self.depths.items() if each == _thread()}


_SECTIONS = _Sections()


class hold_forks(ContextDecorator):  # noqa: N801, it is used like a function
    """Delay forks in other threads until the end of this section or function."""

    def __enter__(self) -> None:
        _SECTIONS.enter()

    def __exit__(self, *_: object) -> None:
        _SECTIONS.leave()


def acquire_for_forks(acquire: Callable[[], object], release: Callable[[], object]) -> None:
    """Make forks acquire a lock of another library, which code outside of sections uses."""
    _SECTIONS.foreign_locks.append((acquire, release))


def after_fork_in_child(hook: Callable[[], object]) -> Callable[[], object]:
    """Register a function that resets inherited state in a forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=hook)
    return hook


@cache
def watch_forks() -> None:
    """Make forks wait for sections from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_SECTIONS.wait_for_others,
            after_in_parent=_SECTIONS.resume,
            after_in_child=_SECTIONS.reset_in_child,
        )


@cache
def import_logging() -> Any:
    """Import `logging` such that a section may log while a fork waits for it.

    `logging` acquires its locks before a fork, and that must happen after waiting for sections.
    """
    import logging

    watch_forks.cache_clear()
    watch_forks()
    return logging
