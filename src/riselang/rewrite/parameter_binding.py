"""Choose values for the parameters of a strategy."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from riselang.rewrite.core import Strategy
from riselang.rewrite.parameters import (
    Choice,
    format_values,
    is_parameter,
    parameters_of,
    parse_text,
    read_parameter,
)
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from riselang.support.spelling import closest_name


def bind(strategy: Strategy, **values: Choice) -> Strategy:
    """Return a strategy with these values for its parameters; others stay open."""
    parameters = parameters_of(strategy)
    for name, value in values.items():
        if name not in parameters:
            hint = closest_name(name, parameters)
            known = ", ".join(parameters) or "none"
            raise UserError(
                f"the strategy has no parameter {name!r}; it has: {known}"
                + (f"; did you mean {hint!r}?" if hint else "")
            )
        if value not in parameters[name]:
            raise UserError(
                f"{value!r} is not a value of the parameter {name!r}, which has the values "
                f"{format_values(parameters[name])}"
            )
    module = _Binder(values).visit(parse_text(str(strategy)))
    return parse_strategy(ast.unparse(module))


class _Binder(ast.NodeTransformer):
    """Replaces parameters with their values."""

    def __init__(self, values: Mapping[str, Choice]):
        self.values = values

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if is_parameter(node):
            name, choices = read_parameter(node)
            if name in self.values and isinstance(self.values[name], int):
                return ast.Constant(self.values[name])
            if name in self.values:
                node = node.args[1 + choices.index(self.values[name])]  # type: ignore
                return self.visit(node)
        return self.generic_visit(node)
