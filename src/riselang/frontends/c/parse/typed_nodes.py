"""Conversions and compound assignments, with C's rules for types."""

from __future__ import annotations

from riselang.frontends.c.parse.c_types import INT, CType, common_type, promote_type
from riselang.frontends.c.parse.syntax import Access, Assign, Binary, Convert, Expression, Literal
from riselang.support.errors import SourceLocation


def convert_to(expression: Expression, type: CType) -> Expression:
    """Convert an expression to a type; constants are converted immediately."""
    if expression.type == type:
        return expression
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        if type.is_integer:
            return Literal(expression.location, type, type.wrap(expression.value))
        if abs(expression.value) <= 1 << 24:
            return Literal(expression.location, type, float(expression.value))
    return Convert(expression.location, type, expression)


def is_zero(expression: Expression) -> bool:
    """Whether an integer expression is zero, as written."""
    match expression:
        case Literal(value=value):
            return value == 0
        case Convert(operand=operand):
            return is_zero(operand)
        case Binary(operator="+", left=left, right=right):
            return is_zero(left) and is_zero(right)
        case _:
            return False


def truth_of(expression: Expression) -> Expression:
    """Return 1 if a value is not zero, else 0."""
    zero = convert_to(Literal(expression.location, INT, 0), expression.type)
    return Binary(expression.location, INT, "!=", expression, zero)


def compound_assignment(
    location: SourceLocation, target: Access, operator: str, operand: Expression
) -> Assign:
    """Build `target operator= operand`, computed in the common type of both."""
    if target.type.is_record:
        value = Binary(location, target.type, operator, target, operand)
        return Assign(location, target, value, is_compound=True)
    if operator in ("<<", ">>"):
        type = promote_type(target.type)
    elif operand.type.is_record:
        # The real part of a complex number.
        value = Binary(location, operand.type, operator, target, operand)
        return Assign(location, target, convert_to(value, target.type), is_compound=True)
    else:
        type = common_type(target.type, operand.type)
        operand = convert_to(operand, type)
    left = convert_to(target, type)
    value = Binary(location, type, operator, left, operand)
    return Assign(location, target, convert_to(value, target.type), is_compound=True)
