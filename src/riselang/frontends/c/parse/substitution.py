"""Substitution of variables in expressions and statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from riselang.frontends.c.parse.c_types import LONG
from riselang.frontends.c.parse.containers import vector_member
from riselang.frontends.c.parse.record_types import access_member, member_variable
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Assign,
    Binary,
    Block,
    Call,
    Conditional,
    Convert,
    Declare,
    Evaluate,
    Expression,
    Fma,
    For,
    If,
    Part,
    RecordValue,
    Return,
    Statement,
    Unary,
    Variable,
    While,
)
from riselang.frontends.c.parse.typed_nodes import convert_to, is_zero
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

Substitution = Mapping[Variable, Expression]
"""The substitutes of variables: a value, another variable, or a part of an array."""
E = TypeVar("E", bound=Expression)


def map_operands(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild an expression with changed operands."""
    match expression:
        case Unary() | Convert() | Part():
            return replace(expression, operand=change(expression.operand))
        case Binary():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case RecordValue():
            return replace(expression, values=tuple(map(change, expression.values)))
        case Conditional():
            return replace(
                expression,
                condition=change(expression.condition),
                first=change(expression.first),
                second=change(expression.second),
            )
        case Access() | ArrayValue():
            indices = tuple(map(change, expression.indices))
            if isinstance(expression, ArrayValue) and expression.offset is not None:
                return replace(expression, indices=indices, offset=change(expression.offset))
            return replace(expression, indices=indices)
        case Call():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Fma():
            return replace(
                expression,
                first=change(expression.first),
                second=change(expression.second),
                third=change(expression.third),
            )
        case _:
            return expression


def substitute_expression(expression: Expression, values: Substitution) -> Expression:
    """Substitute values for variables in an expression."""
    substituted = map_operands(expression, lambda inner: substitute_expression(inner, values))
    if not isinstance(substituted, Access | ArrayValue):
        return substituted
    value = _substitute_variable(substituted.variable, values, substituted.location)
    if value is None:
        return substituted
    if not isinstance(value, ArrayValue) or not substituted.variable.is_array:
        if isinstance(substituted, ArrayValue) and isinstance(value, Access):
            return replace(substituted, variable=value.variable, indices=value.indices)
        return convert_to(value, substituted.type)
    return _substitute_access(substituted, value)


def _substitute_variable(
    variable: Variable, values: Substitution, location: SourceLocation
) -> Expression | None:
    """Return the substitute of a variable, or of the record that it is a member of."""
    if variable in values:
        return values[variable]
    if variable.member is None:
        return None
    record = _substitute_variable(variable.member.parent, values, location)
    name = variable.member.name
    match record:
        case None:
            return None
        case Access():
            # A record by value: a copy, or one that does not change.
            member, indices = access_member(record.variable, record.indices, name, location)
            if variable.is_array:
                return ArrayValue(location, member.type, member, indices)
            return Access(location, member.type, member, indices)
        case ArrayValue() if not record.type.is_record:
            return vector_member(record, name)
        case ArrayValue():
            member = member_variable(record.variable, name, location)
            return replace(record, variable=member, type=member.type)
        case _ if variable.is_array:
            raise UnsupportedConstruct(
                location, f"{name} is an array in a structure that is not a variable",
                "assign the structure to a variable first",
            )  # fmt: skip
        case _:
            return Part(location, variable.type, record, name)


def _substitute_access(access: Access | ArrayValue, array: ArrayValue) -> Expression:
    """Rewrite an access to a parameter as one to the array that was passed."""
    indices = list(access.indices)
    offset = access.offset if isinstance(access, ArrayValue) else None
    if array.is_single:
        return _substitute_single(access, array)
    if array.offset is not None:
        if indices:
            indices[0] = _add_indices(array.offset, indices[0])
        else:
            offset = array.offset if offset is None else _add_indices(array.offset, offset)
    all_indices = (*array.indices, *indices)
    if isinstance(access, Access):
        return Access(access.location, access.type, array.variable, all_indices)
    return ArrayValue(access.location, access.type, array.variable, all_indices, offset)


def _substitute_single(access: Access | ArrayValue, array: ArrayValue) -> Expression:
    """Rewrite an access through the address of one element."""
    first, *rest = access.indices or (None,)
    offset = access.offset if isinstance(access, ArrayValue) else None
    if any(each is not None and not is_zero(each) for each in (first, offset)):
        raise UnsupportedConstruct(
            access.location, f"this accesses memory next to {array.variable.name}, of which only "
            "the address of one element is passed", "pass an array",
        )  # fmt: skip
    if first is None:
        return replace(array, location=access.location)
    indices = (*array.indices, *rest)[: len(array.variable.extents)]
    return replace(access, variable=array.variable, indices=indices)


def _add_indices(left: Expression, right: Expression) -> Expression:
    return Binary(right.location, LONG, "+", convert_to(left, LONG), convert_to(right, LONG))


def substitute_statement(statement: Statement, values: Substitution) -> Statement:
    """Substitute values for variables in a statement; assigned ones are replaced by variables."""

    def variable(old: Variable) -> Variable:
        new = values.get(old)
        return new.variable if isinstance(new, Access | ArrayValue) else old

    def change(expression: E) -> E:
        return substitute_expression(expression, values)  # type: ignore[return-value]

    match statement:
        case Assign():
            target: Expression = substitute_expression(statement.target, values)
            if not isinstance(target, Access):
                raise UnsupportedConstruct(
                    statement.location, "a parameter bound to a value is assigned"
                )
            return replace(statement, target=target, value=change(statement.value))
        case Declare():
            value = None if statement.value is None else change(statement.value)
            return replace(statement, variable=variable(statement.variable), value=value)
        case Block():
            inner = tuple(substitute_statement(each, values) for each in statement.statements)
            return replace(statement, statements=inner)
        case If():
            otherwise = statement.otherwise
            return replace(
                statement,
                condition=change(statement.condition),
                then=substitute_statement(statement.then, values),
                otherwise=None if otherwise is None else substitute_statement(otherwise, values),
            )
        case For():
            return replace(
                statement,
                variable=variable(statement.variable),
                first=change(statement.first),
                condition=change(statement.condition),
                body=substitute_statement(statement.body, values),
            )
        case While():
            return replace(
                statement,
                prelude=_substitute_block(statement.prelude, values),
                condition=change(statement.condition),
                body=substitute_statement(statement.body, values),
                update=_substitute_block(statement.update, values),
            )
        case Evaluate():
            return replace(statement, call=change(statement.call))
        case Return():
            value = None if statement.value is None else change(statement.value)
            return replace(statement, value=value)
        case _:
            return statement


def _substitute_block(block: Block, values: Substitution) -> Block:
    return replace(
        block, statements=tuple(substitute_statement(each, values) for each in block.statements)
    )
