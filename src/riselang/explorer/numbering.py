"""A number for each part of a program, which lowering carries to the code that it becomes."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.explorer.relocation import relocated
from riselang.support.errors import SourceLocation
from riselang.term.nodes import Term

FILE = "<parts>"
"""The file that parts are located in: part `n` is on line `n + 1`, since line 0 means nowhere."""


@dataclass(frozen=True)
class Numbered:
    """A program whose parts are located by their numbers."""

    term: Term
    origins: tuple[Term, ...]
    """The parts by number, as they were: with their places in the source."""


def numbered(term: Term) -> Numbered:
    """The program, each of whose parts has a number."""
    origins: list[Term] = []

    def place(part: Term) -> SourceLocation:
        origins.append(part)
        return SourceLocation(FILE, len(origins))

    return Numbered(relocated(term, place), tuple(origins))


def number_at(file: str, line: int) -> int | None:
    """The number of the part that a location means."""
    return line - 1 if file == FILE and line > 0 else None


def part_number(term: Term) -> int | None:
    """The number of a part of a numbered program."""
    place = term.location
    return None if place is None else number_at(place.file, place.line)
