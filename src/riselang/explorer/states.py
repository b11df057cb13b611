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
    """The number of lines that are removed."""
    lines: tuple[int, ...]
    """The lines that replace the removed ones, by number."""
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
    _previous_lines: tuple[int, ...] = ()

    def add(
        self, term: Term, changed_path: Path | None, next: Path | None, last: NumberedProgram | None
    ) -> None:
        """Add a state; the last one is the program whose parts are numbered."""
        program = term if last is None else last.term
        for path in (changed_path, next):
            if path is not None:
                # An interned part may occur several times; copy it to find this occurrence.
                program = replace_at(program, path, copy.copy(subterm_at(program, path)))
        text = format_with_extents(program)
        line_numbers = tuple(
            self.lines.setdefault(line, len(self.lines)) for line in self._lines(text, last)
        )
        first, removed, new_lines = _line_difference(self._previous_lines, line_numbers)
        marks = [
            None if path is None else _find_mark(text, program, path)
            for path in (changed_path, next)
        ]
        self.states.append(State(first, removed, new_lines, marks[0], marks[1]))
        self._previous_lines = line_numbers

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
    derivation: Derivation, source_term: Term, locations: LocationTable, last: NumberedProgram
) -> States:
    """Return the program as written, contracted if that changes it, and after each step."""
    states = States(locations)
    paths = [step.path for step in derivation.steps]
    terms = list(derivation.terms())
    if source_term != derivation.start:
        states.add(source_term, None, None, None)
    for number, term in enumerate(terms):
        is_last = number == len(terms) - 1
        changed_path = paths[number - 1] if number > 0 else None
        next = None if is_last else paths[number]
        states.add(term, changed_path, next, last if is_last else None)
    return states


def _line_difference(
    old_lines: tuple[int, ...], new_lines: tuple[int, ...]
) -> tuple[int, int, tuple[int, ...]]:
    """Return the first line that differs, the number of lines removed, and the lines added."""
    shortest = min(len(old_lines), len(new_lines))
    common_prefix = 0
    while common_prefix < shortest and old_lines[common_prefix] == new_lines[common_prefix]:
        common_prefix += 1
    common_suffix = 0
    while (
        common_suffix < shortest - common_prefix
        and old_lines[-1 - common_suffix] == new_lines[-1 - common_suffix]
    ):
        common_suffix += 1
    return (
        common_prefix,
        len(old_lines) - common_prefix - common_suffix,
        new_lines[common_prefix : len(new_lines) - common_suffix],
    )


def _find_mark(text: TermText, program: Term, path: Path) -> Mark:
    """Return the extent of the part at a path, or of the smallest printed part around it."""
    extent: Extent | None = None
    while extent is None:
        extent = text.extent(subterm_at(program, path))
        if not path:
            break
        path = path[:-1]
    (line, column), (end_line, end_column) = extent or ((0, 0), (0, 0))
    return line, column, end_line, end_column
