"""Compiling with fewer garbage collections.

A compiler makes many values that live until it ends, and the collector goes through all of them
again and again: a tenth of the time to compile. There is one collector for the whole process, so
how many threads compile is counted.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

from riselang.support.forking import after_in_child

RARELY = (100_000, 20, 10)
"""Young values are looked at after as many new ones, in the place of Python's 700."""
_lock = threading.Lock()
_before: list[tuple[int, tuple[int, int, int]]] = []
"""Threads that compile at the moment, and what to go back to when none does."""


@contextmanager
def relaxed_gc() -> Generator[None]:
    """Garbage is collected rarely until all that asked for this have ended."""
    with _lock:
        entry = (threading.get_ident(), _before[0][1] if _before else gc.get_threshold())
        _before.append(entry)
        gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        with _lock:
            _remove([entry])


def _remove(entries: list[tuple[int, tuple[int, int, int]]]) -> None:
    for entry in entries:
        _before.remove(entry)
        if not _before:
            gc.set_threshold(*entry[1])


@after_in_child
def _forget_other_threads() -> None:
    global _lock
    _lock = threading.Lock()
    _remove([each for each in _before if each[0] != threading.get_ident()])
