"""`#pragma rise assume(n >= 64)` in the text of a file."""

from __future__ import annotations

import re
from functools import lru_cache

from riselang.support.errors import SourceLocation, UserError

ASSUME = "__builtin_assume"
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+rise\b[ \t]*(?P<rest>.*?)[ \t]*$", re.MULTILINE)
_CONDITION = re.compile(r"assume[ \t]*(?P<condition>\(.+\))")


@lru_cache(maxsize=8)
def pragma_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines with `#pragma rise assume`."""
    if "pragma" not in text:
        return frozenset()
    return frozenset(text.count("\n", 0, match.start()) + 1 for match in _PRAGMA.finditer(text))


def with_assumptions(text: str, name: str) -> str:
    """Replace the pragmas by calls of the same length that clang knows."""
    if "pragma" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        found = _CONDITION.fullmatch(match["rest"])
        if found is None:
            line = text.count("\n", 0, match.start()) + 1
            raise UserError(
                "expected #pragma rise assume(condition), such as #pragma rise assume(n >= 64)",
                SourceLocation(name, line, 1, 1, match[0]),
            )
        return f"{ASSUME}{found['condition']};".rjust(len(match[0]))

    return _PRAGMA.sub(replace, text)
