"""The program before the first step and after each step, as lines that states share.

A state is stored as its difference to the previous one: which lines are removed, and which replace
them. All lines are in one table, with the words on them and their origins.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from riselang.explorer.numbering import NumberedProgram, part_number
from riselang.explorer.source_locations import NO_LOCATION, LocationTable
from riselang.notation.term_extents import Extent, TermText, format_with_extents
from riselang.rewrite.core import Path
from riselang.rewrite.derivation import Derivation
from riselang.rewrite.paths import replace_at, subterm_at
from riselang.term.nodes import Term

Line = tuple[str, tuple[int, ...]]
"""A text, and its words: column, length, source location, part of the last program."""
Mark = tuple[int, int, int, int]
"""The first line and column, and the line and column of the end (exclusive)."""
CONTRACTION = "a * b + c ~> fma(a, b, c)"


@dataclass(frozen=True)
class State:
    """A program, as its difference to the previous one."""

    first: int
    """The first line that changes."""
    removed: int
    lines: tuple[int, ...]
    """The lines that replace them, by number."""
    produced: Mark | None
    """The part that the step to this state has produced."""
    next: Mark | None
    """The part that the next step changes."""


@dataclass
class States:
    """The states of a derivation."""

    locations: LocationTable
    lines: dict[Line, int] = field(default_factory=dict[Line, int])
    states: list[State] = field(default_factory=list[State])
    _before: tuple[int, ...] = ()

    def add(
        self, term: Term, made: Path | None, next: Path | None, last: NumberedProgram | None
    ) -> None:
        """Add a state; the last one is the program whose parts are numbered."""
        whole = term if last is None else last.term
        for path in (made, next):
            if path is not None:
                # An interned part may occur several times; copy it to find this occurrence.
                whole = replace_at(whole, path, copy.copy(subterm_at(whole, path)))
        text = format_with_extents(whole)
        now = tuple(
            self.lines.setdefault(line, len(self.lines)) for line in self._lines(text, last)
        )
        first, removed, added = _line_difference(self._before, now)
        marks = [None if path is None else _find_mark(text, whole, path) for path in (made, next)]
        self.states.append(State(first, removed, added, marks[0], marks[1]))
        self._before = now

    def _lines(self, text: TermText, last: NumberedProgram | None) -> list[Line]:
        words: dict[int, list[int]] = {}
        for word in text.words:
            part = NO_LOCATION if last is None else part_number(word.term)
            origin = word.term if last is None or part is None else last.origins[part]
            location = self.locations.of(origin)
            part = NO_LOCATION if part is None else part
            if location != NO_LOCATION or part != NO_LOCATION:
                words.setdefault(word.line, []).extend((word.column, word.length, location, part))
        return [(line, tuple(words.get(n, ()))) for n, line in enumerate(text.text.split("\n"))]


def make_states(
    derivation: Derivation, written: Term, locations: LocationTable, last: NumberedProgram
) -> States:
    """Return the program as written, contracted if that changes it, and after each step."""
    states = States(locations)
    paths = [step.path for step in derivation.steps]
    terms = list(derivation.terms())
    if written != derivation.start:
        states.add(written, None, None, None)
    for number, term in enumerate(terms):
        is_last = number == len(terms) - 1
        made = paths[number - 1] if number > 0 else None
        next = None if is_last else paths[number]
        states.add(term, made, next, last if is_last else None)
    return states


def _line_difference(
    before: tuple[int, ...], now: tuple[int, ...]
) -> tuple[int, int, tuple[int, ...]]:
    """Return the first line that differs, the number of lines removed, and the lines added."""
    most = min(len(before), len(now))
    first = 0
    while first < most and before[first] == now[first]:
        first += 1
    same = 0
    while same < most - first and before[-1 - same] == now[-1 - same]:
        same += 1
    return first, len(before) - first - same, now[first : len(now) - same]


def _find_mark(text: TermText, whole: Term, path: Path) -> Mark:
    """Return the extent of the part at a path, or of the smallest printed part around it."""
    found: Extent | None = None
    while found is None:
        found = text.extent(subterm_at(whole, path))
        if not path:
            break
        path = path[:-1]
    (line, column), (end_line, end_column) = found or ((0, 0), (0, 0))
    return line, column, end_line, end_column
