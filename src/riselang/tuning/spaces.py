"""Spaces to search: a strategy with parameters, and constraints on their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riselang.rewrite.core import Strategy
from riselang.rewrite.parameter_binding import bind
from riselang.rewrite.parameters import Choice, parameters_of
from riselang.support.errors import UserError

Choices = Mapping[str, Choice]
"""A value for each parameter, by name."""


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
