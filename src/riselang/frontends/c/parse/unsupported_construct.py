"""Errors for unsupported constructs: the location, the construct, the reason, and what would
help."""

from __future__ import annotations

from riselang.support.errors import LimitationError, SourceLocation


class UnsupportedConstruct(LimitationError):
    """A construct that cannot be modeled, with its location; the note says what would help."""

    def __init__(self, location: SourceLocation, reason: str, help: str = ""):
        super().__init__(reason, location, *([help] if help else []))
        self.location = location
        self.help = help

    @property
    def warning(self) -> str:
        """The message as a warning, used if the rest of the file is still processed."""
        return str(self).replace(": error: ", ": warning: ", 1)
