"""Programs in functional notation: text in, closed typed terms out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.types import show
from riselang.errors import LimitationError, RiseError, SourceLocation, UserError
from riselang.nat import Nat, NatError
from riselang.notation.context import Undetermined, general
from riselang.notation.elaboration import Elaborator
from riselang.notation.names import resolve
from riselang.notation.reader import read
from riselang.notation.source import Source
from riselang.notation.syntax import Definition as DefinitionSyntax
from riselang.stack import more_stack
from riselang.term.finish import finish
from riselang.term.nodes import Term
from riselang.timing import timed

FRAMES_PER_LEVEL = 16


@dataclass(frozen=True)
class Definition:
    """A definition and where its name stands."""

    name: str
    term: Term
    location: SourceLocation
    refined: Mapping[str, Nat] = field(default_factory=dict[str, Nat])
    """What sizes are that had to be multiples: `N = 4 * N_by_4`."""


@dataclass(frozen=True)
class Program:
    """The definitions of a file, in order.

    A helper is a definition whose types only its uses determine, so it has no term of its own;
    with its name stands what is missing for that.
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


def parse_program(text: str, name: str = "<text>") -> Program:
    """The program in `text`; `name` is the file that errors speak of."""
    source = Source(text, name)
    with timed("read"):
        read_definitions, _ = read(source)
    depth = sum(definition.depth for definition in read_definitions)
    with timed("check"), more_stack(FRAMES_PER_LEVEL * depth):
        try:
            return _program(read_definitions, source)
        except RecursionError:
            raise LimitationError(
                "the program nests too deeply where its definitions are inlined",
                source.location(read_definitions[-1].span),
            ) from None


def parse_term(text: str, name: str = "<text>") -> Term:
    """The term that a single expression means."""
    program = parse_program(text, name)
    if len(program) != 1 or program.helpers:
        raise UserError("expected one expression, but found several definitions")
    return program.definitions[0].term


def _program(definitions: list[DefinitionSyntax], source: Source) -> Program:
    bindings = resolve(definitions, source)
    used = {binder for binder in bindings.values() if isinstance(binder, DefinitionSyntax)}
    found: list[Definition] = []
    helpers: dict[str, UserError] = {}
    for definition in definitions:
        elaborator = Elaborator(source, bindings)
        try:
            term = _elaborate(definition, elaborator)
        except UserError as error:
            # A helper that takes functions may be right at each use, and yet have no one type.
            deferred = definition in used and elaborator.assumes_functions
            if definition.start is None or not (deferred or isinstance(error, Undetermined)):
                raise
            helpers[definition.name] = error
        else:
            place, refined = source.location(definition.span), elaborator.inference.refined
            found.append(Definition(definition.name, term, place, refined))
    return Program(tuple(found), helpers)


def _elaborate(definition: DefinitionSyntax, elaborator: Elaborator) -> Term:
    source = elaborator.source
    try:
        node = elaborator.infer(definition.value, elaborator.top)
        try:
            elaborator.check_finished()
        except Undetermined as error:
            if definition.start is None:
                raise
            type = general(elaborator.resolve(node.type))
            note = f"{definition.name} works for every {show(type)}"
            raise Undetermined(error.message, error.location, note) from None
        return finish(node, elaborator.inference)
    except RiseError as error:
        raise error.located(source.location(elaborator.at)) from None
    except (NatError, VerifyException) as error:
        raise source.error(str(error), elaborator.at) from None
