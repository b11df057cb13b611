"""Stack for functions that recurse.

Since Python 3.11 a call from Python to Python takes no C stack, so a deep recursion in plain
functions (no generators, no callbacks through C) only needs a higher limit. There is one limit for
the whole process, so what all threads ask for is kept together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from riselang.forking import after_in_child

_lock = threading.Lock()
_BASE = sys.getrecursionlimit()
_asked: list[tuple[int, int]] = []
"""Threads, and the frames that they asked for."""


@contextmanager
def more_stack(frames: int) -> Generator[None]:
    """Room for `frames` more Python calls."""
    entry = (threading.get_ident(), frames)
    with _lock:
        _asked.append(entry)
        wanted = _BASE + sum(frames for _, frames in _asked)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), wanted))
    try:
        yield
    finally:
        with _lock:
            _asked.remove(entry)
            _lower_limit()


def _lower_limit() -> None:
    if not _asked:
        sys.setrecursionlimit(_BASE)


@after_in_child
def _forget_other_threads() -> None:
    global _lock
    _lock = threading.Lock()
    _asked[:] = [each for each in _asked if each[0] == threading.get_ident()]
    _lower_limit()
