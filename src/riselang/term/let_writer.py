"""Rebuilding a term from flattened values: as lets, or inlined where they are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import FST, LET, SND, TO_MEM, TUPLE
from riselang.dialects.rise.types import components
from riselang.term.anti_unification import replace_variables
from riselang.term.flattening import ProgramValue
from riselang.term.nodes import VARIABLES, Bound, Free, Lambda, Pattern, Term, apply_all
from riselang.term.substitution import map_children


class LetWriter:
    """Collects flattened values, either as let bindings or to be inlined where they are used."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Free, Term, str]] = []
        self._inlined_terms: dict[Term, Term] = {}
        """The term to inline for each variable that has no let."""
        self._unstored_terms: dict[Free, Term] = {}
        """The term of each value, without `toMem`."""

    def bind(self, variable: Free, term: Term, name: str) -> None:
        self._bindings.append((variable, term, name))

    def inline(self, value: ProgramValue, term: Term) -> None:
        self._inlined_terms[value.variable] = term

    def add(self, value: ProgramValue, *, is_named: bool) -> None:
        self.add_as(value, self.inline_variables(value.term), is_named=is_named)

    def add_as(self, value: ProgramValue, term: Term, *, is_named: bool) -> None:
        self._unstored_terms[value.variable] = term
        if value.kind == "stored":
            term = apply_all(Pattern(TO_MEM, ("heap", term.type)), [term])
        if is_named:
            self.bind(value.variable, term, value.name)
        else:
            self.inline(value, term)

    def result_term(self, value: ProgramValue) -> Term:
        """A value as the result of a function: its variable if a let binds it, or its term."""
        if any(variable == value.variable for variable, _, _ in self._bindings):
            return value.variable
        return self._unstored_terms[value.variable]

    def inline_variables(self, term: Term) -> Term:
        """Replace the inlined variables in a term."""
        return replace_variables(term, self._inlined_terms)

    def to_lets(self, result: Term) -> Lets:
        return Lets(tuple(self._bindings), self.inline_variables(result))


@dataclass(frozen=True)
class Lets:
    """Let bindings, in order, and the term that uses them."""

    bindings: tuple[tuple[Free, Term, str], ...]
    result: Term


def close_function(parameters: Sequence[Lambda], variables: Sequence[Free], body: Lets) -> Term:
    """A function of these variables, with the names and types of these parameters."""
    levels: dict[Term, int] = {each: level for level, each in enumerate(variables)}
    values: list[Term] = []
    for variable, value, _ in body.bindings:
        values.append(_bind_variables(value, levels, len(levels)))
        levels[variable] = len(levels)
    term = _bind_variables(body.result, levels, len(levels))
    for (variable, _, name), value in reversed(list(zip(body.bindings, values, strict=True))):
        function = Lambda(name, variable.type, term)
        term = apply_all(Pattern(LET, (variable.type, term.type)), [value, function])
    for parameter in reversed(parameters):
        term = Lambda(parameter.name, parameter.parameter, term, parameter.location)
    return term


def _bind_variables(term: Term, levels: Mapping[Term, int], depth: int) -> Term:
    def visit(term: Term, depth: int) -> Term:
        if isinstance(term, Free):
            return Bound(depth - 1 - levels[term], term.type, term.location)
        if not term.patterns & VARIABLES:
            return term
        return map_children(term, lambda t: visit(t, depth), lambda t: visit(t, depth + 1))

    return visit(term, depth)


def tuple_of(parts: Sequence[Term]) -> Term:
    *first, result = parts
    for part in reversed(first):
        result = apply_all(Pattern(TUPLE, (part.type, result.type)), [part, result])
    return result


def parts_of_tuple(tuple_term: Term, count: int) -> Iterator[Term]:
    for _ in range(count - 1):
        first, second = components(tuple_term.type)
        yield apply_all(Pattern(FST, (first, second)), [tuple_term])
        tuple_term = apply_all(Pattern(SND, (first, second)), [tuple_term])
    yield tuple_term
