"""Numbers for the parts of a program, which lowering propagates to the generated code."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.explorer.relocation import relocate
from riselang.support.errors import SourceLocation
from riselang.term.nodes import Term

PARTS_FILE = "<parts>"
"""The file name of part numbers: part `n` is on line `n + 1`, since line 0 means no location."""


@dataclass(frozen=True)
class NumberedProgram:
    """A program whose parts have their numbers as locations."""

    term: Term
    origins: tuple[Term, ...]
    """The original parts by number, with their source locations."""


def number_parts(term: Term) -> NumberedProgram:
    """Number the parts of a program."""
    origins: list[Term] = []

    def location(part: Term) -> SourceLocation:
        origins.append(part)
        return SourceLocation(PARTS_FILE, len(origins))

    return NumberedProgram(relocate(term, location), tuple(origins))


def number_at(file: str, line: int) -> int | None:
    """Return the part number that a location encodes, or None."""
    return line - 1 if file == PARTS_FILE and line > 0 else None


def part_number(term: Term) -> int | None:
    """Return the number of a part of a numbered program, or None."""
    location = term.location
    return None if location is None else number_at(location.file, location.line)
