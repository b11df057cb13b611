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

_LOCK = threading.Lock()
_BASE = sys.getrecursionlimit()
_asked: list[int] = []


@contextmanager
def more_stack(frames: int) -> Generator[None]:
    """Room for `frames` more Python calls."""
    with _LOCK:
        _asked.append(frames)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _BASE + sum(_asked)))
    try:
        yield
    finally:
        with _LOCK:
            _asked.remove(frames)
            if not _asked:
                sys.setrecursionlimit(_BASE)
