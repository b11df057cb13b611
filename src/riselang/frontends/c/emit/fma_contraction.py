"""FMA contraction: the float permission `contract` fuses multiplications and additions.

It is decided here, on the source, for each expression: the leftmost product of a sum is contracted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.substitution import with_operands
from riselang.frontends.c.parse.syntax import (
    Assign,
    Binary,
    Block,
    Declare,
    Expression,
    Fma,
    For,
    If,
    Statement,
    Unary,
)


def contracted(scop: Scop) -> Scop:
    """Contract products and sums in a region."""
    result = scop.result
    return replace(
        scop,
        statements=tuple(_statement(each) for each in scop.statements),
        result=None if result is None else contracted_value(result),
    )


def _statement(statement: ModelStatement) -> ModelStatement:
    return replace(statement, body=_body(statement.body))


def _body(statement: Statement) -> Statement:
    match statement:
        case Assign():
            return replace(statement, value=contracted_value(statement.value))
        case Declare(value=Expression() as value):
            return replace(statement, value=contracted_value(value))
        case Block():
            return replace(statement, statements=tuple(map(_body, statement.statements)))
        case If():
            otherwise = statement.otherwise
            return replace(
                statement,
                condition=contracted_value(statement.condition),
                then=_body(statement.then),
                otherwise=None if otherwise is None else _body(otherwise),
            )
        case For():
            return replace(statement, body=_body(statement.body))
        case _:
            return statement


def contracted_value(expression: Expression) -> Expression:
    found = with_operands(expression, contracted_value)
    if not isinstance(found, Binary) or not found.type.is_float or found.operator not in "+-":
        return found
    left, right, place = found.left, found.right, found.place
    is_minus = found.operator == "-"
    if _is_product(left):
        return Fma(place, found.type, left.left, left.right, _signed(right, is_minus))
    if _is_product(right):
        return Fma(place, found.type, _signed(right.left, is_minus), right.right, left)
    return found


def _is_product(expression: Expression) -> TypeGuard[Binary]:
    return isinstance(expression, Binary) and expression.operator == "*"


def _signed(expression: Expression, is_minus: bool) -> Expression:
    if not is_minus:
        return expression
    return Unary(expression.place, expression.type, "-", expression)
