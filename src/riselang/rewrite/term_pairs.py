"""Pairs of terms that should have the same value, and running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, uncurry
from riselang.interpreter.evaluate import Environment, evaluate_term, from_buffers, to_buffers
from riselang.nat import Nat
from riselang.rewrite.core import Path, Step
from riselang.rewrite.eta import mentions
from riselang.rewrite.interpreter_cost import estimate_steps
from riselang.rewrite.reports import Difference
from riselang.rewrite.samples import Precision, first_difference, random_buffers
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import DepLambda, Embed, Lambda, Pattern, Term, parameter_names, subterms
from riselang.term.size_substitution import substitute_sizes


class RejectedInputs(Exception):
    """Inputs for which the original program has no value, and why."""


@dataclass(frozen=True)
class Variable:
    """A variable that is bound outside a term; it needs no value if the term does not use it."""

    name: str
    type: RiseType
    is_used: bool


@dataclass(frozen=True)
class TermPair:
    """Two terms that should have the same value, and the variables that are bound outside them."""

    before: Term
    after: Term
    variables: tuple[Variable, ...] = ()
    """The innermost first."""

    @cached_property
    def obstacle(self) -> str | None:
        """Why the terms cannot be run, if they cannot."""
        variable_types = [each.type for each in self.variables if each.is_used]
        inputs, result = uncurry(self.before.type)
        if any(
            isinstance(type, FunType | DepFunType) for type in (*variable_types, *inputs, result)
        ):
            return "it is a function of functions, sizes or types"
        for each in (*subterms(self.before), *subterms(self.after)):
            if isinstance(each, Embed):
                return "the interpreter does not run foreign ops"
            if isinstance(each, Pattern) and each.spec.name == "while":
                return "a while may not terminate on random values"
        return None

    def at_sizes(self, sizes: Mapping[str, Nat]) -> TermPair:
        """Return the same pair at given sizes."""
        if not sizes:
            return self
        variables = tuple(
            Variable(each.name, substitute(each.type, sizes, {}), each.is_used)
            for each in self.variables
        )
        return TermPair(
            substitute_sizes(self.before, sizes), substitute_sizes(self.after, sizes), variables
        )

    @property
    def work(self) -> int:
        """The estimated interpreter steps of a run of both; 0 if they cannot be run."""
        return 0 if self.obstacle else estimate_steps(self.before) + estimate_steps(self.after)

    def difference(
        self, precision: Precision, source: np.random.Generator, *, special: bool = True
    ) -> Difference | None:
        """Compare both on random inputs; raises RejectedInputs if the program rejects the
        inputs."""

        def sample(type: RiseType) -> Any:
            return from_buffers(type, random_buffers(type, precision, source, special=special))

        inputs, result = uncurry(self.before.type)
        try:
            variable_values = [
                sample(each.type) if each.is_used else None for each in self.variables
            ]
            arguments = [sample(type) for type in inputs]
            before = _run(self.before, variable_values, arguments)
        except UserError as error:
            raise RejectedInputs(f"it rejects its random inputs: {error.message}") from None
        try:
            after = _run(self.after, variable_values, arguments)
        except UserError as error:
            return Difference(
                self._format_inputs(variable_values, arguments),
                _format_value(before),
                error.message,
                (),
            )
        index = first_difference(to_buffers(result, before), to_buffers(result, after), precision)
        if index is None:
            return None
        return Difference(
            self._format_inputs(variable_values, arguments),
            _format_value(before),
            _format_value(after),
            index,
        )

    def _format_inputs(
        self, variable_values: list[Any], arguments: list[Any]
    ) -> tuple[tuple[str, str], ...]:
        """Format every input with its name, in binding order."""
        pairs = zip(self.variables, variable_values, strict=True)
        outer = [(each.name, _format_value(value)) for each, value in pairs if each.is_used]
        parameters = parameter_names(self.before)
        names = [*parameters, *(f"argument {number + 1}" for number in range(len(parameters), 99))]
        inner = [
            (name, _format_value(value)) for name, value in zip(names, arguments, strict=False)
        ]
        return (*reversed(outer), *inner)


def pair_of_step(step: Step, program: Term) -> TermPair | None:
    """Return the subterm that a step changed; None inside functions of sizes or data types."""
    lambdas = _enclosing_lambdas(program, step.path)
    if lambdas is None:
        return None
    variables = tuple(
        Variable(layer.name, layer.parameter, mentions(step.before, i) or mentions(step.after, i))
        for i, layer in enumerate(lambdas)
    )
    return TermPair(step.before, step.after, variables)


def _enclosing_lambdas(term: Term, path: Path) -> list[Lambda] | None:
    """Return the lambdas that enclose the subterm at a path, the innermost first."""
    lambdas: list[Lambda] = []
    for position in path:
        if isinstance(term, DepLambda):
            return None
        if isinstance(term, Lambda):
            lambdas.insert(0, term)
        term = term.children[position]
    return lambdas


@recursive
def _run(term: Term, variable_values: list[Any], arguments: list[Any]) -> Any:
    environment: Environment = ()
    for value in reversed(variable_values):
        environment = (value, environment)
    result = evaluate_term(term, environment)
    for argument in arguments:
        result = result(argument)
    return result


def _format_value(value: Any) -> str:
    """Format a value of the interpreter in notation."""
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_value, value))})"
    return str(value)
