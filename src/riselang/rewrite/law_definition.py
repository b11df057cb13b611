"""Where a rule is defined, so that errors in its law are located in the user's file."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import CodeType

from riselang.support.errors import SourceLocation, UserError


@dataclass(frozen=True)
class Definition:
    """The definition of a rule by a decorated function, whose docstring has the law."""

    name: str
    """The name of the rule."""
    code: CodeType
    """The code of the decorated function."""
    chosen: tuple[str, ...] = ()
    """The sizes that the user chooses."""
    is_matched: bool = True
    """Whether matching determines the unknowns of the law; otherwise a function finds them."""

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.code.co_firstlineno}"

    def error(
        self, message: str, text: str = "", column: int = 0, length: int = 1, *notes: str
    ) -> UserError:
        """Return an error at a column, from 0, of a text in the definition; or at its first line.

        The whitespace in `text` may differ from that in the file.
        """
        location = self._locate(text, column, length) if text else self.location
        return UserError(f"{self.name}: {message}", location, *notes)

    @property
    def location(self) -> SourceLocation:
        """The line of the decorator."""
        line = self._source.partition("\n")[0]
        indent = len(line) - len(line.lstrip())
        length = max(1, len(line) - indent)
        return SourceLocation(self.code.co_filename, self.code.co_firstlineno, indent + 1, length)

    def _locate(self, text: str, column: int, length: int) -> SourceLocation:
        file, first = self.code.co_filename, self.code.co_firstlineno
        found = re.search(r"\s+".join(map(re.escape, text.split())), self._source)
        if found is None:
            return SourceLocation(file, first, column + 1, length, text)
        start = found.start() + _column_in(found[0], column)
        before = self._source[:start]
        line_start = before.rfind("\n") + 1
        return SourceLocation(file, first + before.count("\n"), start - line_start + 1, length)

    @property
    def _source(self) -> str:
        try:
            return "".join(inspect.getsourcelines(self.code)[0])
        except OSError:
            return ""


def _column_in(found: str, column: int) -> int:
    """Translate a column of a text with single spaces to one with other whitespace."""
    shorter = 0
    for space in re.finditer(r"\s+", found):
        if space.start() - shorter >= column:
            break
        shorter += len(space[0]) - 1
    return column + shorter
