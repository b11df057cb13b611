"""Flattening a program into the sequence of values that it computes and stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, TO_MEM, TUPLE
from riselang.dialects.rise.types import FunType, RiseType
from riselang.term.anti_unification import abstract_parts, free_variables, is_view_of_variable
from riselang.term.finish import SHARED_NAME
from riselang.term.nodes import Bound, Free, Lambda, Pattern, Term, apply_all, has_pattern, spine
from riselang.term.substitution import map_children


@dataclass(eq=False)
class ProgramValue:
    """A value that the program computes and stores or names."""

    variable: Free
    name: str
    term: Term
    """Its definition, in which other values and the program's parameters are free variables."""
    kind: str
    """Why the program has it: `named` by a let, `stored` by toMem, or a `result`."""
    form: Term | None = None
    """Its term with numbered variables for `parts`; equal for values computed in the same way."""
    parts: tuple[Term, ...] = ()
    """The variables, views of variables and literals that its form abstracts from."""
    size: int = 0

    @property
    def used_variables(self) -> Iterator[Free]:
        """The variables that it mentions."""
        return (name for part in self.parts for name in free_variables(part))


class FlatProgram:
    """A program as a sequence of values and a result that mentions them."""

    def __init__(self, program: Term):
        self.values: list[ProgramValue] = []
        self.parameters: list[Lambda] = []
        self._count = 0
        self._stored_variables: dict[Term, Free] = {}
        inputs: list[Free] = []
        while isinstance(program, Lambda):
            self.parameters.append(program)
            inputs.append(self._new_variable(program.parameter))
            program = program.body
        self.inputs = tuple(inputs)
        scope: list[Term] = list(inputs)
        while (let := _split_let(program)) is not None:
            value, function = let
            scope.append(
                self._bind_let(self._extract_stored(_substitute_scope(value, scope)), function.name)
            )
            program = function.body
        self.result = self._extract_results(_substitute_scope(program, scope))
        for value in self.values:
            value.form, value.parts, value.size = abstract_parts(value.term)

    def _new_variable(self, type: RiseType) -> Free:
        self._count += 1
        return Free(f"${self._count}", type)

    def _add_value(self, term: Term, kind: str, name: str = SHARED_NAME) -> Free:
        variable = self._new_variable(term.type)
        self.values.append(ProgramValue(variable, name, term, kind))
        return variable

    def _bind_let(self, term: Term, name: str) -> Term:
        """The term that replaces the variable of a let: a view itself, or a new variable."""
        if not is_view_of_variable(term):
            return self._add_value(term, "named", name)
        if self.values and self.values[-1].variable == term:
            self.values[-1].name = name
        return term

    def _extract_results(self, term: Term) -> Term:
        head, arguments = spine(term)
        if isinstance(head, Pattern) and head.spec is TUPLE and len(arguments) == 2:
            return apply_all(head, [self._extract_results(each) for each in arguments])
        if isinstance(term, Free):
            return term
        return self._add_value(self._extract_stored(term), "result")

    def _extract_stored(self, term: Term) -> Term:
        """Replace each `toMem(heap)` outside of functions with a variable."""
        head, arguments = spine(term)
        if not isinstance(head, Pattern) or head.spec is LET or not arguments:
            return term
        if not has_pattern(term, "toMem"):
            return term
        arguments = [
            each if isinstance(each.type, FunType) else self._extract_stored(each)
            for each in arguments
        ]
        if not (head.spec is TO_MEM and head.argument("space") == "heap"):
            result = apply_all(head, arguments)
            result.location = term.location
            return result
        (inner,) = arguments
        if inner not in self._stored_variables:
            self._stored_variables[inner] = self._add_value(inner, "stored")
        return self._stored_variables[inner]


def _split_let(term: Term) -> tuple[Term, Lambda] | None:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        return None
    value, function = arguments
    return (value, function) if isinstance(function, Lambda) else None


def _substitute_scope(term: Term, scope: Sequence[Term]) -> Term:
    """Replace the variables of the enclosing lambdas with the terms in `scope`."""

    def visit(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            return scope[level - 1 - term.index]
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(term, 0)
