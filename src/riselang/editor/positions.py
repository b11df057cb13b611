"""Positions in a text: offsets, lines and columns of errors, and positions of the protocol.

Editors count lines from 0, and columns in UTF-16 code units; a line ends with a line feed, a
carriage return, or both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from riselang.editor.answers import Extent
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Positions:
    """The lines of one text."""

    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def _error_line_starts(self) -> list[int]:
        """The starts of lines in errors, where only a line feed ends a line."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, as editors count them."""
        offset = min(max(0, offset), len(self.text))
        line = bisect_right(self._line_starts, offset) - 1
        return line, _utf16_length(self.text[self._line_starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position, clamped to the end of its line and of the text."""
        if line >= len(self._line_starts):
            return len(self.text)
        start = self._line_starts[line]
        end = self._line_starts[line + 1] if line + 1 < len(self._line_starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        line_start = content.encode("utf-16-le", "surrogatepass")[: 2 * column]
        return start + len(line_start.decode("utf-16-le", "ignore"))

    def extent(self, location: SourceLocation | None) -> Extent:
        """Return the extent of an error; the start of the text if it has no location."""
        if location is None:
            return 0, 0
        line = min(location.line, len(self._error_line_starts)) - 1
        start = min(self._error_line_starts[line] + location.column - 1, len(self.text))
        return start, min(start + location.length, len(self.text))


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
