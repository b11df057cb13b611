"""What `rise doctor` finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """Whether something is as it should be."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, and what to do about it if it is not well."""

    name: str
    state: State
    detail: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]
"""Looks at one thing; it may fail, which is a finding, too."""
