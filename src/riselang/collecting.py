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

RARELY = (100_000, 20, 10)
"""Young values are looked at after as many new ones, in the place of Python's 700."""
_LOCK = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""One for each that compiles at the moment; the first is what to go back to."""


@contextmanager
def fewer_collections() -> Generator[None]:
    """Garbage is collected rarely until all that asked for this have ended."""
    with _LOCK:
        _before.append(_before[0] if _before else gc.get_threshold())
        gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        with _LOCK:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)
