"""`--verify-diagnostics`, with MLIR's meaning: a file states the errors that it expects.

    // expected-error@+1 {{expected argument 2}}

The offset may be `@+N`, `@-N`, `@above` or `@below`; without one the error is on the same line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from riselang.support.errors import RiseError, UserError

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|note|warning|remark)"
    r"(?:@(?P<offset>[+-]\d+|above|below))?\s*\{\{(?P<text>.*?)\}\}"
)


@dataclass(frozen=True)
class Expectation:
    """An error that a file expects."""

    line: int
    text: str


def expectations(text: str) -> list[Expectation]:
    found: list[Expectation] = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _EXPECTED.finditer(line):
            if match["kind"] == "error":
                found.append(Expectation(number + _offset(match["offset"]), match["text"]))
    return found


def _offset(text: str | None) -> int:
    if text in ("above", "below"):
        return -1 if text == "above" else 1
    return int(text or 0)


def check_diagnostics(text: str, name: str, error: RiseError | None) -> None:
    """Raise an error if the text expects another error, or none."""
    expected = expectations(text)
    if error is None:
        if expected:
            wanted = expected[0]
            raise UserError(
                f"expected error on line {wanted.line} of {name} was not produced: {wanted.text}"
            )
        return
    line = error.location.line if error.location is not None else None
    if not any(e.line == line and e.text in error.message for e in expected):
        raise error
    if len(expected) > 1:
        missing = next(e for e in expected if not (e.line == line and e.text in error.message))
        raise UserError(
            f"expected error on line {missing.line} of {name} was not produced: {missing.text}; "
            "reading stops at the first error, so split the file with // -----"
        )
