"""Verdicts of the prover on laws."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """What is known about a law."""

    PROVED = "proved"
    CHECKED = "checked to 32"
    REFUTED = "refuted"
    OUT_OF_REACH = "out of reach"


@dataclass(frozen=True)
class Verdict:
    """A status, and what it is based on: conditions, the tested sizes, or a counterexample."""

    status: Status
    detail: str

    def __str__(self) -> str:
        return f"{self.status.value}: {self.detail}"
