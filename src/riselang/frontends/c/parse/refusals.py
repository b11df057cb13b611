"""What cannot be taken: where, what it is, why, and what would help."""

from __future__ import annotations

from riselang.support.errors import LimitationError, SourceLocation


class Refusal(LimitationError):
    """A construct that cannot be modelled, at its place; the note says what would help."""

    def __init__(self, place: SourceLocation, reason: str, help: str = ""):
        super().__init__(reason, place, *([help] if help else []))
        self.place = place
        self.help = help

    @property
    def warning(self) -> str:
        """As a warning, where the rest of the file goes on."""
        return str(self).replace(": error: ", ": warning: ", 1)
