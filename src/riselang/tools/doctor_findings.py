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
