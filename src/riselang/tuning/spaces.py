"""Spaces to search: a strategy with parameters, and constraints on their values."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riselang.rewrite.core import Setting, Strategy, Success
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.parameter_binding import bind
from riselang.rewrite.parameters import Choice, OpenStrategy, escape_keywords, parameters_of
from riselang.rewrite.selectors import Position
from riselang.support.errors import UserError
from riselang.term.nodes import Term

Choices = Mapping[str, Choice]
"""A value for each parameter, by name."""
FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""The multiples of each number of a strategy that a generic space contains."""
FIRST_COUNTS = (0, 1, 2, 4, 8, 16)
"""The values in a generic space of a number that is 0."""


@dataclass(frozen=True)
class Space:
    """A strategy with parameters; `where` returns whether it permits a choice of values."""

    strategy: Strategy
    where: Callable[[dict[str, Any]], bool] | None = None
    parameters: Mapping[str, tuple[Choice, ...]] = field(init=False)

    def __post_init__(self) -> None:
        parameters = parameters_of(self.strategy)
        if not parameters:
            raise UserError(
                f"the strategy {self.strategy} has no parameters to search; put st.param(name, "
                "values) in place of a number"
            )
        object.__setattr__(self, "parameters", parameters)

    @property
    def size(self) -> int:
        """The number of choices, with those that constraints exclude."""
        return math.prod(map(len, self.parameters.values()))

    def permits(self, choices: Choices) -> bool:
        return self.where is None or bool(self.where(dict(choices)))

    def strategy_for(self, choices: Choices) -> Strategy:
        return bind(self.strategy, **choices)

    def key(self, choices: Choices) -> tuple[Choice, ...]:
        return tuple(choices[name] for name in self.parameters)

    def choices(self, key: Sequence[Choice]) -> Choices:
        return dict(zip(self.parameters, key, strict=True))

    def describe(self) -> str:
        """Describe the parameters, one in each line."""
        lines = [f"{name}: {', '.join(map(str, each))}" for name, each in self.parameters.items()]
        return "\n".join([*lines, f"{self.size} choices"])


def generic_space(term: Term, float: str) -> tuple[Space, Choices]:
    """Return a space for a program without one, and the choices that the default strategy makes.

    The default strategy recognizes computations, and chooses a schedule for each. In the space,
    every number and every option of these schedules is a parameter.
    """
    text = default_text(term, float)
    module = ast.parse(escape_keywords(text))
    opener = _Opener()
    opened = opener.visit(module)
    return Space(OpenStrategy(ast.unparse(opened))), opener.values


def default_text(term: Term, float: str) -> str:
    """Return the text of a strategy that does what the default strategy does to a program."""
    from riselang.rewrite.strategies.default_schedule import (
        prepare_computations,
        recognized_computations,
    )

    setting = Setting(float)
    strategy: Strategy = prepare_computations()
    result = (data_flow_normal_form >> strategy).run(term, setting)
    scheduled: list[str] = []
    for computation in recognized_computations(term, setting):
        step = computation.strategy @ Position(computation.path)
        if isinstance(result, Success):
            next_result = step.run(result.term, setting.quiet)
            if isinstance(next_result, Success):
                result = next_result
                scheduled.append(str(step))
    if not scheduled:
        raise UserError(
            "the default strategy recognizes no computation in this program, so there is no "
            "generic space for it; pass space=, a strategy with parameters"
        )
    return " >> ".join([str(strategy), *scheduled, "try(parallel_outermost())"])


class _Opener(ast.NodeTransformer):
    """Replaces the numbers and options of schedules with parameters."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.values: dict[str, Choice] = {}
        """The number or option that each parameter replaces."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func)
        if name in ("path", "by_size"):
            return node
        node.args = [self._open(name, str(k), each) for k, each in enumerate(node.args)]
        for keyword in node.keywords:
            keyword.value = self._open(name, str(keyword.arg), keyword.value)
        return node

    def _open(self, function: str, argument: str, value: ast.expr) -> ast.expr:
        if not isinstance(value, ast.Constant) or not isinstance(value.value, int):
            return self.visit(value)
        name = f"{function}_{argument}".replace(".", "_")
        self.names[name] = self.names.get(name, 0) + 1
        name = name if self.names[name] == 1 else f"{name}_{self.names[name]}"
        self.values[name] = value.value
        return ast.parse(f"param({name!r}, {_values_near(value.value)})", mode="eval").body


def _values_near(value: int) -> list[int]:
    if isinstance(value, bool):
        return [False, True]
    if value == 0:
        return list(FIRST_COUNTS)
    return sorted({int(value * factor) for factor in FACTORS if value * factor >= 1})
