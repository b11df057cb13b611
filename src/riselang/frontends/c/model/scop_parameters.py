"""Parameters of a region, and the loops and conditions around a statement in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import Names, join_conditions, parameter_prefix
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Expression, Variable


@dataclass(frozen=True)
class Parameter:
    """An integer that is constant throughout the region."""

    name: str
    source: Variable | Expression | tuple[Linear, ...]
    """A variable, an expression of variables, or a product."""
    smallest: int
    largest: int


class Parameters:
    """The parameters of a region, collected while it is read."""

    def __init__(self, names: Names):
        self._names = names
        self._parameters: dict[object, Parameter] = {}
        self.context = ""
        """Conditions that the user promises."""

    def __iter__(self) -> Any:
        return iter(self._parameters.values())

    @property
    def prefix(self) -> str:
        """The parameter prefix of an isl text."""
        return parameter_prefix([each.name for each in self])

    @property
    def ranges(self) -> str:
        """The ranges of all parameters, from their types, and what the user promises."""
        ranges = [f"{each.smallest} <= {each.name} <= {each.largest}" for each in self]
        return " and ".join([*ranges, *([f"({self.context})"] if self.context else [])])

    def add_variable(self, variable: Variable) -> Linear:
        name = self._names.name_of(variable)
        type = variable.type
        return self._add_parameter(variable, Parameter(name, variable, type.smallest, type.largest))

    def add_expression(self, expression: Expression) -> Linear:
        if expression not in self._parameters:
            name, type = self._names.make_fresh("p"), expression.type
            self._add_parameter(
                expression, Parameter(name, expression, type.smallest, type.largest)
            )
        return Linear.of(self._parameters[expression].name)

    def add_product(self, factors: tuple[Linear, ...]) -> Linear:
        if factors not in self._parameters:
            limit = 1 << 63
            self._add_parameter(
                factors, Parameter(self._names.make_fresh("p"), factors, -limit, limit - 1)
            )
        return Linear.of(self._parameters[factors].name)

    def _add_parameter(self, key: object, parameter: Parameter) -> Linear:
        self._parameters.setdefault(key, parameter)
        return Linear.of(self._parameters[key].name)


@dataclass(frozen=True)
class LoopNest:
    """The loops around a statement, and the conditions under which it runs."""

    iterators: tuple[tuple[Variable, str], ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.iterators)

    def iterator_name(self, variable: Variable) -> str | None:
        return next((name for known, name in self.iterators if known is variable), None)

    def with_condition(self, condition: str) -> LoopNest:
        return LoopNest(self.iterators, (*self.conditions, condition))

    @property
    def condition(self) -> str:
        return join_conditions(self.conditions)
