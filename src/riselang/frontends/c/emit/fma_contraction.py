"""FMA contraction: the float permission `contract` fuses multiplications and additions.

It is decided here, on the source, for each expression: the leftmost product of a sum is contracted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.substitution import map_operands
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
    While,
)


def contract_scop(scop: Scop) -> Scop:
    """Contract products and sums in a region."""
    result, written = scop.result, scop.as_written
    return replace(
        scop,
        statements=tuple(_contract_statement(each) for each in scop.statements),
        result=None if result is None else contract_expression(result),
        as_written=None if written is None else contract_scop(written),
    )


def _contract_statement(statement: ModelStatement) -> ModelStatement:
    return replace(statement, body=_contract_body(statement.body))


def _contract_body(statement: Statement) -> Statement:
    match statement:
        case Assign():
            return replace(statement, value=contract_expression(statement.value))
        case Declare(value=Expression() as value):
            return replace(statement, value=contract_expression(value))
        case Block():
            return _contract_block(statement)
        case If():
            otherwise = statement.otherwise
            return replace(
                statement,
                condition=contract_expression(statement.condition),
                then=_contract_body(statement.then),
                otherwise=None if otherwise is None else _contract_body(otherwise),
            )
        case For():
            return replace(statement, body=_contract_body(statement.body))
        case While():
            return replace(
                statement,
                prelude=_contract_block(statement.prelude),
                condition=contract_expression(statement.condition),
                body=_contract_body(statement.body),
                update=_contract_block(statement.update),
            )
        case _:
            return statement


def _contract_block(block: Block) -> Block:
    return replace(block, statements=tuple(map(_contract_body, block.statements)))


def contract_expression(expression: Expression) -> Expression:
    contracted = map_operands(expression, contract_expression)
    if (
        not isinstance(contracted, Binary)
        or not contracted.type.is_float
        or contracted.operator not in "+-"
    ):
        return contracted
    left, right, location = contracted.left, contracted.right, contracted.location
    is_minus = contracted.operator == "-"
    if _is_product(left):
        return Fma(location, contracted.type, left.left, left.right, _apply_sign(right, is_minus))
    if _is_product(right):
        return Fma(location, contracted.type, _apply_sign(right.left, is_minus), right.right, left)
    return contracted


def _is_product(expression: Expression) -> TypeGuard[Binary]:
    return isinstance(expression, Binary) and expression.operator == "*"


def _apply_sign(expression: Expression, is_minus: bool) -> Expression:
    if not is_minus:
        return expression
    return Unary(expression.location, expression.type, "-", expression)
