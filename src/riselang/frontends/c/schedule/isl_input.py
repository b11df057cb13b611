"""Texts for isl that users wrote: tried in another process, since some end isl's process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache

_READ = """
import json, sys
import islpy as isl
for number, (kind, text) in enumerate(json.load(sys.stdin)):
    print(number, flush=True)
    getattr(isl, kind).read_from_str(isl.DEFAULT_CONTEXT, text)
"""


@lru_cache(maxsize=64)
def _try_texts(texts: str) -> tuple[int, str] | None:
    command = [sys.executable, "-P", "-c", _READ]
    process = subprocess.run(command, input=texts, capture_output=True, text=True, check=False)
    if process.returncode == 0:
        return None
    numbers = process.stdout.split()
    reason = (process.stderr.strip().splitlines() or ["isl gives no reason"])[-1]
    return int(numbers[-1]) if numbers else 0, reason


def find_unreadable(texts: Sequence[tuple[str, str]]) -> tuple[int, str] | None:
    """Return the position of the first text that isl cannot read, and why; None if it reads all.

    A text comes with the class of isl that it is to be an object of: `Map`, `Set`, `Schedule`.
    """
    return _try_texts(json.dumps(list(texts)))
