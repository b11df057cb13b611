"""Random programs that compute several values in the same way.

A step is a random term of one value and of inputs of its own. A program takes its steps several
times: one after the other, or each time for other inputs; and keeps what they give under a name,
in memory or where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riselang.dialects.rise.types import FunType, RiseType, contains_array
from riselang.term.nodes import Apply, Free, Lambda, Pattern, Term, apply_all, spine
from riselang.term.substitution import map_children
from support.choices import Choices
from support.generation.generator import Generator
from support.generation.maker import BUDGETS
from support.generation.place import Place, use
from support.programs import Program, close

ROOM = 40
"""How many scalars a value may have, counting every iteration of the loops around it."""

LARGE = 200
"""How many nodes a term has that is not written where it is used, lest it is written often."""


@dataclass(frozen=True)
class Step:
    """What is computed again and again."""

    source: Free
    inputs: tuple[Free, ...]
    """Those that are others each time."""
    body: Term
    keep: str


def repeating_program(seed: int, *, compiled: bool = False) -> Program:
    """A program, of `compiled` patterns only or of all of them."""
    return _Repeating(Choices(seed), compiled).program()


class _Repeating:
    """Makes one program."""

    def __init__(self, choices: Choices, compiled: bool):
        self.choices = choices
        self.generator = Generator(choices, compiled)
        self.lets: list[tuple[Free, Term]] = []
        self.ways: dict[str, Callable[[Term], Term]] = {
            "named": self.named,
            "stored": stored,
            "named and stored": lambda term: self.named(stored(term)),
            "used": lambda term: term,
        }

    def program(self) -> Program:
        types = [self.type_with_an_array() for _ in range(self.choices.weighted([(3, 1), (2, 2)]))]
        steps = [self.step(source, types[(at + 1) % len(types)]) for at, source in enumerate(types)]
        is_chain = self.choices.one_in(2)
        given: list[Term] = [self.generator.variable(types[0], "start")]
        for _ in range(self.choices.weighted([(3, 2), (2, 3), (1, 4)])):
            value = given[-1] if is_chain else self.any_value(types[0])
            for step in steps:
                value = self.taken(step, value)
            given.append(value)
            self.something_else()
        results = [value for value in given[1:-1] if self.choices.one_in(2 if is_chain else 5)]
        return self.whole([*given[-2 + is_chain :], *results][:3])

    def type_with_an_array(self) -> RiseType:
        while not contains_array(type := self.generator.types.data(ROOM)):
            pass
        return type

    def step(self, source: RiseType, target: RiseType) -> Step:
        generator, place = self.generator, Place((), 6, ROOM)
        generator.budget, generator.inputs = self.choices.of(BUDGETS), []
        x = generator.variable(source, "x")
        body = generator.using(x, generator.term(target, place.inside(x)), place)
        changing = tuple(each for each in generator.inputs if not self.choices.one_in(4))
        generator.inputs = []
        return Step(x, changing, self.partly_stored(body), self.choices.of(list(self.ways)))

    def partly_stored(self, term: Term) -> Term:
        """The term with some of its parts, in no function, in memory."""
        head, arguments = spine(term)
        if not isinstance(head, Pattern) or head.spec.name == "let":
            return term
        parts: list[Term] = []
        for argument in arguments:
            part = self.partly_stored(argument)
            is_data = not isinstance(part.type, FunType)
            parts.append(stored(part) if is_data and self.choices.one_in(3) else part)
        return apply_all(head, parts)

    def taken(self, step: Step, value: Term) -> Term:
        """A step for a value and new inputs, now and then one that other steps have."""
        variables: dict[Term, Term] = {step.source: value}
        for variable in step.inputs:
            variables[variable] = self.any_value(variable.type)
        keep = self.choices.of(list(self.ways)) if self.choices.one_in(8) else step.keep
        term = replaced(step.body, variables)
        return self.ways[keep](term) if size(term) < LARGE else self.named(term)

    def any_value(self, type: RiseType) -> Term:
        """A new input, or sometimes a value that there is."""
        found = [variable for variable, _ in self.lets if variable.type == type]
        if found and self.choices.one_in(4):
            return self.choices.of(found)
        return self.generator.variable(type, "in")

    def something_else(self) -> None:
        """Sometimes, a value that is computed in no other place."""
        if self.choices.one_in(4):
            self.generator.budget = min(BUDGETS)
            scope = tuple(variable for variable, _ in self.lets)
            type = self.generator.types.data(ROOM)
            self.named(self.generator.term(type, Place(scope, 4, ROOM)))

    def named(self, term: Term) -> Term:
        variable = self.generator.variable(term.type, "v")
        self.lets.append((variable, term))
        return variable

    def whole(self, results: list[Term]) -> Program:
        body = results[-1]
        for part in reversed(results[:-1]):
            body = apply_all(use("tuple", part.type, body.type), [part, body])
        for variable, value in reversed(self.lets):
            function = Lambda(variable.name, variable.type, body)
            body = apply_all(use("let", variable.type, body.type), [value, function])
        for variable in reversed(list(free_variables(body))):
            body = Lambda(variable.name, variable.type, body)
        return Program(close(body), len(results))


def stored(term: Term) -> Term:
    return Apply(use("toMem", "heap", term.type), term)


def replaced(term: Term, variables: Mapping[Term, Term]) -> Term:
    """The term with others in the place of its variables."""

    def visit(term: Term) -> Term:
        if isinstance(term, Free):
            return variables.get(term, term)
        return map_children(term, visit, visit)

    return visit(term)


def size(term: Term) -> int:
    return 1 + sum(map(size, term.children))


def free_variables(term: Term, bound: frozenset[str] = frozenset()) -> dict[Free, None]:
    """The variables that no lambda binds, in the order of the text."""
    if isinstance(term, Free):
        return {} if term.name in bound else {term: None}
    if isinstance(term, Lambda):
        bound |= {term.name}
    found: dict[Free, None] = {}
    for child in term.children:
        found.update(free_variables(child, bound))
    return found
