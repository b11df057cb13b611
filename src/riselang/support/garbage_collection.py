"""Fewer garbage collections during compilation.

A compiler creates many objects that live until it ends, and the collector traverses all of them
repeatedly, which takes a tenth of the compile time. There is one collector for the entire process,
so the compiling threads are counted.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

from riselang.support.forking import after_fork_in_child

INFREQUENT_THRESHOLDS = (100_000, 20, 10)
"""The thresholds during compilation; Python's default for the youngest generation is 700."""
_lock = threading.Lock()
_compiling_threads: list[tuple[int, tuple[int, int, int]]] = []
"""The threads that compile now, each with the thresholds to restore when none does."""


@contextmanager
def infrequent_gc() -> Generator[None]:
    """Collect garbage rarely until the end of all such blocks."""
    with _lock:
        entry = (
            threading.get_ident(),
            _compiling_threads[0][1] if _compiling_threads else gc.get_threshold(),
        )
        _compiling_threads.append(entry)
        gc.set_threshold(*INFREQUENT_THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            _remove([entry])


def _remove(entries: list[tuple[int, tuple[int, int, int]]]) -> None:
    for entry in entries:
        _compiling_threads.remove(entry)
        if not _compiling_threads:
            gc.set_threshold(*entry[1])


@after_fork_in_child
def _forget_other_threads() -> None:
    global _lock
    _lock = threading.Lock()
    _remove([each for each in _compiling_threads if each[0] != threading.get_ident()])
