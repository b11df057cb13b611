"""What is known of a law."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How far a law is known to hold."""

    PROVED = "proved"
    CHECKED = "checked to 32"
    REFUTED = "refuted"
    OUT_OF_REACH = "out of reach"


@dataclass(frozen=True)
class Verdict:
    """A status, and what it rests on: conditions, the sizes tried, or a counterexample."""

    status: Status
    detail: str

    def __str__(self) -> str:
        return f"{self.status.value}: {self.detail}"
