"""Places in the source, by number, and the words of the source that stand there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from riselang.explorer.subject import SourceText
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property
from riselang.term.nodes import Term

_NAME = re.compile(r"[\w.]+|\|>|[^\s\w]")
BY_STATEMENT = ("mlir", "stablehlo", "c")
"""Languages in which a place is that of an op or a statement, up to the end of its line."""
NOWHERE = -1


@dataclass
class Places:
    """Places in the source, numbered in the order in which they are met."""

    source: SourceText
    numbers: dict[tuple[str, int, int], int] = field(
        default_factory=dict[tuple[str, int, int], int]
    )

    def of(self, term: Term) -> int:
        """The number of the place where a part was written, or NOWHERE."""
        return self.at(term.location)

    def at(self, location: SourceLocation | None) -> int:
        if location is None:
            return NOWHERE
        column = location.column
        if self.source.language == "python" and location.file == self.source.file:
            column += _last_stage(self._written(location))
        key = (location.file, location.line, column)
        return self.numbers.setdefault(key, len(self.numbers))

    def _written(self, location: SourceLocation) -> str:
        """What stands at a place."""
        line = self._lines[location.line - 1] if location.line <= len(self._lines) else ""
        return line[location.column - 1 :][: location.length]

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.text.split("\n")

    def labels(self) -> list[str]:
        """`matmul.rise:4:23` for each."""
        return [
            f"{file.replace(chr(92), '/').rpartition('/')[2]}:{line}:{column}"
            for file, line, column in self.numbers
        ]

    def source_lines(self) -> list[tuple[str, tuple[int, ...]]]:
        """The source, each line with its words: column, length and the number of the place."""
        lines = self._lines
        words: dict[int, dict[int, tuple[int, int, int]]] = {}
        for (file, line, column), number in self.numbers.items():
            if file == self.source.file and 0 < line <= len(lines):
                length = self._length(lines[line - 1], column)
                words.setdefault(line, {})[column] = (column - 1, length, number)
        return [
            (text, _flat(sorted(words.get(number, {}).values())))
            for number, text in enumerate(lines, 1)
        ]

    def _length(self, line: str, column: int) -> int:
        rest = line[column - 1 :]
        if self.source.language in BY_STATEMENT:
            return max(1, len(rest.rstrip()))
        found = _NAME.match(rest)
        return len(found[0]) if found is not None else 1


def _last_stage(text: str) -> int:
    """Where `f` stands in `x | f`, which is the place of an expression in Python."""
    depth, found = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "|" and depth == 0:
            found = at + 1 + (len(text[at + 1 :]) - len(text[at + 1 :].lstrip()))
    return found


def _flat(words: list[tuple[int, int, int]]) -> tuple[int, ...]:
    """Words that do not overlap; one that begins inside another ends that."""
    result: list[int] = []
    for position, (start, length, number) in enumerate(words):
        if position + 1 < len(words):
            length = min(length, words[position + 1][0] - start)
        result += (start, length, number)
    return tuple(result)
