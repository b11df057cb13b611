"""The affine conditions under which a statement performs each of its accesses.

`i > 0 ? a[i - 1] : 0` does not access `a[-1]`. Data-dependent accesses are assumed to happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from riselang.frontends.c.model.affine_arithmetic import NotAffine
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Block,
    Conditional,
    Expression,
    For,
    If,
    Statement,
    While,
    child_statements,
    direct_expressions,
    direct_operands,
)


def access_conditions(statement: Statement, reader: AffineReader) -> Mapping[Access, Sequence[str]]:
    """Return, for each access of a statement, the conditions of which one holds where it
    happens."""
    walk = _ConditionCollector()
    walk.visit_statement(statement, reader)
    return walk.conditions


@dataclass
class _ConditionCollector:
    conditions: dict[Access, list[str]] = field(default_factory=dict[Access, list[str]])

    def visit_statement(self, statement: Statement, reader: AffineReader) -> None:
        for expression in direct_expressions(statement):
            self.visit_expression(expression, reader)
        match statement:
            case Block():
                for inner in statement.statements:
                    self.visit_statement(inner, reader)
            case If():
                self.visit_statement(statement.then, _restrict_reader(reader, statement.condition))
                if statement.otherwise is not None:
                    otherwise = _restrict_reader(reader, statement.condition, holds=False)
                    self.visit_statement(statement.otherwise, otherwise)
            case For() | While():
                for inner in child_statements(statement):
                    self.visit_statement(inner, reader)
            case _:
                pass

    def visit_expression(self, expression: Expression, reader: AffineReader) -> None:
        match expression:
            case Conditional():
                self.visit_expression(expression.condition, reader)
                self.visit_expression(
                    expression.first, _restrict_reader(reader, expression.condition)
                )
                second = _restrict_reader(reader, expression.condition, holds=False)
                self.visit_expression(expression.second, second)
            case Binary(operator="&&" | "||" as operator):
                self.visit_expression(expression.left, reader)
                right = _restrict_reader(reader, expression.left, holds=operator == "&&")
                self.visit_expression(expression.right, right)
            case _:
                if isinstance(expression, Access):
                    conditions = self.conditions.setdefault(expression, [])
                    condition = reader.nest.condition
                    conditions += [condition] if condition not in conditions else []
                for inner in direct_operands(expression):
                    self.visit_expression(inner, reader)


def _restrict_reader(
    reader: AffineReader, condition: Expression, *, holds: bool = True
) -> AffineReader:
    """Restrict the reader to where a condition holds, or does not; a data-dependent one adds
    nothing."""
    parts = "&&" if holds else "||"
    if isinstance(condition, Binary) and condition.operator == parts:
        return _restrict_reader(
            _restrict_reader(reader, condition.left, holds=holds), condition.right, holds=holds
        )
    try:
        text = reader.read_condition(condition)
    except NotAffine:
        return reader
    return reader.restrict(text if holds else f"not ({text})")
