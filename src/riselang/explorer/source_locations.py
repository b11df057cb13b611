"""Source locations by number, and the words of the source at these locations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from riselang.explorer.subject import SourceText
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property
from riselang.term.nodes import Term

_NAME = re.compile(r"[\w.]+|\|>|[^\s\w]")
STATEMENT_LANGUAGES = ("mlir", "stablehlo", "c")
"""Languages in which a location is that of an op or a statement, up to the end of its line."""
NO_LOCATION = -1


@dataclass
class LocationTable:
    """Source locations, numbered in the order in which they are added."""

    source: SourceText
    numbers: dict[tuple[str, int, int], int] = field(
        default_factory=dict[tuple[str, int, int], int]
    )

    def of(self, term: Term) -> int:
        """Return the number of the location of a part, or NOWHERE."""
        return self.at(term.location)

    def at(self, location: SourceLocation | None) -> int:
        if location is None:
            return NO_LOCATION
        column = location.column
        if self.source.language == "python" and location.file == self.source.file:
            column += _last_stage_offset(self._source_text(location))
        key = (location.file, location.line, column)
        return self.numbers.setdefault(key, len(self.numbers))

    def _source_text(self, location: SourceLocation) -> str:
        """Return the source text at a location."""
        line = self._lines[location.line - 1] if location.line <= len(self._lines) else ""
        return line[location.column - 1 :][: location.length]

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.text.split("\n")

    def labels(self) -> list[str]:
        """Return each location as text, such as `matmul.rise:4:23`."""
        return [
            f"{file.replace(chr(92), '/').rpartition('/')[2]}:{line}:{column}"
            for file, line, column in self.numbers
        ]

    def source_lines(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the source lines with their words: column, length and location number."""
        lines = self._lines
        words: dict[int, dict[int, tuple[int, int, int]]] = {}
        for (file, line, column), number in self.numbers.items():
            if file == self.source.file and 0 < line <= len(lines):
                length = self._word_length(lines[line - 1], column)
                words.setdefault(line, {})[column] = (column - 1, length, number)
        return [
            (text, _remove_overlaps(sorted(words.get(number, {}).values())))
            for number, text in enumerate(lines, 1)
        ]

    def _word_length(self, line: str, column: int) -> int:
        rest = line[column - 1 :]
        if self.source.language in STATEMENT_LANGUAGES:
            return max(1, len(rest.rstrip()))
        match = _NAME.match(rest)
        return len(match[0]) if match is not None else 1


def _last_stage_offset(text: str) -> int:
    """Return the offset of `f` in `x | f`, which is the location of the expression in Python."""
    depth, offset = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "|" and depth == 0:
            offset = at + 1 + (len(text[at + 1 :]) - len(text[at + 1 :].lstrip()))
    return offset


def _remove_overlaps(words: list[tuple[int, int, int]]) -> tuple[int, ...]:
    """Return words without overlap: a word that begins inside another ends it."""
    result: list[int] = []
    for position, (start, length, number) in enumerate(words):
        if position + 1 < len(words):
            length = min(length, words[position + 1][0] - start)
        result += (start, length, number)
    return tuple(result)
