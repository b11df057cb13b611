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
    expressions_of,
    operands,
)


def conditions_of(statement: Statement, reader: AffineReader) -> Mapping[Access, Sequence[str]]:
    """Return, for each access of a statement, the conditions of which one holds where it
    happens."""
    walk = _Walk()
    walk.statement(statement, reader)
    return walk.found


@dataclass
class _Walk:
    found: dict[Access, list[str]] = field(default_factory=dict[Access, list[str]])

    def statement(self, statement: Statement, reader: AffineReader) -> None:
        for expression in expressions_of(statement):
            self.expression(expression, reader)
        match statement:
            case Block():
                for inner in statement.statements:
                    self.statement(inner, reader)
            case If():
                self.statement(statement.then, _under(reader, statement.condition))
                if statement.otherwise is not None:
                    otherwise = _under(reader, statement.condition, holds=False)
                    self.statement(statement.otherwise, otherwise)
            case For():
                self.statement(statement.body, reader)
            case _:
                pass

    def expression(self, expression: Expression, reader: AffineReader) -> None:
        match expression:
            case Conditional():
                self.expression(expression.condition, reader)
                self.expression(expression.first, _under(reader, expression.condition))
                second = _under(reader, expression.condition, holds=False)
                self.expression(expression.second, second)
            case Binary(operator="&&" | "||" as operator):
                self.expression(expression.left, reader)
                right = _under(reader, expression.left, holds=operator == "&&")
                self.expression(expression.right, right)
            case _:
                if isinstance(expression, Access):
                    known = self.found.setdefault(expression, [])
                    condition = reader.nest.condition
                    known += [condition] if condition not in known else []
                for inner in operands(expression):
                    self.expression(inner, reader)


def _under(reader: AffineReader, condition: Expression, *, holds: bool = True) -> AffineReader:
    """Restrict the reader to where a condition holds, or does not; a data-dependent one adds
    nothing."""
    parts = "&&" if holds else "||"
    if isinstance(condition, Binary) and condition.operator == parts:
        return _under(_under(reader, condition.left, holds=holds), condition.right, holds=holds)
    try:
        text = reader.condition(condition)
    except NotAffine:
        return reader
    return reader.under(text if holds else f"not ({text})")
