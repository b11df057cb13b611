"""Parsing programs in functional notation to closed typed terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from riselang.nat import Nat
from riselang.notation.definition_checking import check_definitions
from riselang.notation.name_resolution import resolve_names
from riselang.notation.reader import parse_definitions
from riselang.notation.source import Source
from riselang.support.errors import SourceLocation, UserError
from riselang.support.profiling import time_span
from riselang.support.recursion import with_deep_stack
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.term.nodes import Term


@dataclass(frozen=True)
class Definition:
    """A definition and the location of its name."""

    name: str
    term: Term
    location: SourceLocation
    size_refinements: Mapping[str, Nat] = field(default_factory=dict[str, Nat])
    """The values of sizes that have to be multiples: `N = 4 * N_by_4`."""
    interface: Interface = PLAIN_INTERFACE
    """Which parameters and results are complex."""


@dataclass(frozen=True)
class Program:
    """The definitions of a file, in order.

    A helper is a polymorphic definition: only its uses determine its types, so it has no term.
    `helpers` maps its name to the error that says which type is not determined.
    """

    definitions: tuple[Definition, ...]
    helpers: Mapping[str, UserError] = field(default_factory=dict[str, UserError])

    def __getitem__(self, name: str) -> Term:
        for definition in self.definitions:
            if definition.name == name:
                return definition.term
        raise KeyError(name)

    def __iter__(self) -> Iterator[Definition]:
        return iter(self.definitions)

    def __len__(self) -> int:
        return len(self.definitions)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(definition.name for definition in self.definitions)


@with_deep_stack
def parse_program(text: str, name: str = "<text>") -> Program:
    """Parse a program; `name` is the file name in errors."""
    source = Source(text, name)
    with time_span("read"):
        read_definitions, _ = parse_definitions(source)
    definitions: list[Definition] = []
    helpers: dict[str, UserError] = {}
    with time_span("check"):
        resolved = resolve_names(read_definitions, source)
        for checked in check_definitions(read_definitions, source, resolved):
            if checked.problems:
                raise checked.problems[0]
            if checked.undetermined is not None:
                helpers[checked.syntax.name] = checked.undetermined
            elif checked.term is not None and checked.elaborator is not None:
                location, refined = (
                    source.location(checked.syntax.span),
                    checked.elaborator.size_refinements,
                )
                name, term = checked.syntax.name, checked.term
                definitions.append(Definition(name, term, location, refined, checked.interface))
    return Program(tuple(definitions), helpers)


def parse_term(text: str, name: str = "<text>") -> Term:
    """Parse a single expression to its term."""
    program = parse_program(text, name)
    if len(program) != 1 or program.helpers:
        raise UserError("expected one expression, but found several definitions")
    return program.definitions[0].term
