"""Fewer garbage collections during compilation.

A compiler creates many objects that live until it ends, and the collector traverses all of them
repeatedly, which takes a tenth of the compile time. There is one collector for the entire process,
so the compiling threads are counted.

At the end of a compilation, the collector would traverse all new objects once more. Instead, they
are moved to the oldest generation: `gc.freeze` followed by `gc.unfreeze` does this without
traversing them. Python's next full collection frees those that are garbage. Until then, at most
`MAX_MOVED_OBJECTS` are moved, which bounds the memory that a process of many compilations uses.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

from riselang.support.forking import after_fork_in_child

INFREQUENT_THRESHOLDS = (500_000, 20, 10)
"""The thresholds during compilation; Python's default for the youngest generation is 700."""
MAX_MOVED_OBJECTS = 1_000_000
"""How many objects are moved to the oldest generation between two full collections."""
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
            _old_generation.add_young_objects()
            gc.set_threshold(*entry[1])


class _OldGeneration:
    """The objects that were moved to the oldest generation since the last full collection."""

    def __init__(self) -> None:
        self.full_collections = 0
        self.moved_objects = 0

    def add_young_objects(self) -> None:
        """Move all young objects to the oldest generation, within the limit."""
        full_collections = gc.get_stats()[-1]["collections"]
        if full_collections != self.full_collections:
            self.full_collections, self.moved_objects = full_collections, 0
        moved_objects = self.moved_objects + gc.get_count()[0]
        # `gc.unfreeze` would undo a `gc.freeze` of the application.
        if moved_objects <= MAX_MOVED_OBJECTS and not gc.get_freeze_count():
            self.moved_objects = moved_objects
            gc.freeze()
            gc.unfreeze()


_old_generation = _OldGeneration()


@after_fork_in_child
def _forget_other_threads() -> None:
    global _lock
    _lock = threading.Lock()
    _remove([each for each in _compiling_threads if each[0] != threading.get_ident()])
