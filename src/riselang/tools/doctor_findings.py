"""The findings of `rise doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """The state of something that was checked."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """The result of a check, with advice if there is a problem."""

    name: str
    state: State
    detail: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]
"""Checks one thing; an exception is reported as a finding."""


def format_caches(caches: Iterable[tuple[int, int]]) -> str:
    """Format cache sizes by level: `L1 32 KiB, L2 1024 KiB`."""
    return ", ".join(f"L{level} {size >> 10} KiB" for level, size in caches)
