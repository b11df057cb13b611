"""The three base classes of all errors, and how errors are formatted.

`UserError`: the program or the call is wrong (exit code 1). `LimitationError`: the program is
right, but not supported yet (exit code 1). `InternalError`: a bug in riselang (exit code 70).
Messages are one paragraph, lower case, without a full stop: expected, found, what to do.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLocation:
    """A range in a file that the user wrote; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1
    length: int = 1
    text: str | None = None
    """The source line, if it cannot be read from the file."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def source_line(self) -> str | None:
        if self.text is not None:
            return self.text
        return linecache.getline(self.file, self.line).rstrip("\n") or None


class RiseError(Exception):
    """The common base class; raise one of the three subclasses."""

    exit_code = 1

    def __init__(self, message: str, location: SourceLocation | None = None, *notes: str):
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = notes

    def __str__(self) -> str:
        return format_error(self)

    def with_location(self, location: SourceLocation | None) -> RiseError:
        """Set the location if there is none yet, and return this error."""
        if self.location is None:
            self.location = location
        return self


class UserError(RiseError):
    """The program, file or argument is wrong."""


class OutOfRangeError(UserError, IndexError):
    """An index check failed at run time."""

    def __init__(
        self, index: int, bound: int, location: SourceLocation | None, what: str = "checkIdx"
    ):
        super().__init__(f"{what}: the index {index} is not in [0, {bound})", location)


class CheckError(UserError):
    """A condition that the program checks with `rl.check` is false."""


class NotFiniteError(UserError):
    """An operation on finite numbers returns NaN or infinity."""


class MissingSymbolsError(UserError):
    """Compiled code calls functions that nothing in this process defines."""

    def __init__(self, names: Sequence[str]):
        listed = ", ".join(f"'{name}'" for name in names)
        super().__init__(
            f"compiled code calls {listed}, which no library in this process defines; load the "
            "library first (ctypes.CDLL(path, ctypes.RTLD_GLOBAL)), or define the function in the "
            "module"
        )
        self.names = tuple(names)


class LimitationError(RiseError):
    """The program is right, but this version does not support it."""


class InternalError(RiseError):
    """A bug in riselang."""

    exit_code = 70


LONGEST_LINE = 200
"""How many characters of a source line are shown; a line of a module may contain a tensor."""
ELLIPSIS = "..."


def format_error(error: RiseError) -> str:
    """Format an error: `file:line:col: error: message`, the source line, a caret, and notes."""
    location = error.location
    if location is None:
        head = [f"error: {error.message}"]
    else:
        head = [f"{location}: error: {error.message}", *_caret_lines(location)]
    return "\n".join([*head, *(f"note: {note}" for note in error.notes)])


def _caret_lines(location: SourceLocation) -> list[str]:
    if location.source_line is None:
        return []
    line, column = _shorten_line(location.source_line, location.column - 1)
    # Keep tabs, so that the caret is below its character.
    before = line[:column]
    indent = "".join("\t" if character == "\t" else " " for character in before)
    width = max(1, min(location.length, len(line) - len(before)))
    return [f"  {line}", f"  {indent}{'^' * width}"]


def _shorten_line(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column in it."""
    if len(line) <= LONGEST_LINE:
        return line, column
    start = max(0, min(column, len(line)) - LONGEST_LINE // 2)
    end = start + LONGEST_LINE
    prefix = ELLIPSIS if start else ""
    suffix = ELLIPSIS if end < len(line) else ""
    return prefix + line[start:end] + suffix, column - start + len(prefix)
