"""For loops that count: their variable starts at a value, and changes by a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Convert,
    Declare,
    Expression,
    For,
    Jump,
    Literal,
    Statement,
    Unary,
    Variable,
    While,
    direct_expressions,
    walk_expression,
    walk_statement,
)
from riselang.frontends.c.parse.typed_nodes import convert_to


def find_counted_loop(begin: Sequence[Statement], loop: While) -> Statement | None:
    """Return `begin; loop` as a counted loop, after other statements of its start; None if its
    iterations are not counted by one variable."""
    counted = _count_down(begin, loop) or _count_by_step(begin, loop)
    if counted is None:
        return None
    others, found = counted
    return Block(loop.location, (*others, found)) if others else found


def _count_by_step(begin: Sequence[Statement], loop: While) -> tuple[list[Statement], For] | None:
    """Match `for (i = first, ...; condition; i += step, ...)`."""
    if loop.prelude.statements:
        return None
    for update in loop.update.statements:
        if not isinstance(update, Assign):
            continue
        variable, others = update.target.variable, list(loop.update.statements)
        others.remove(update)
        step = _constant_step(update, variable)
        start = _find_start(begin, variable)
        if not step or start is None or not _compares(loop.condition, variable):
            continue
        if any(_uses(each, variable) for each in others):
            continue
        if others and _continues(loop.body):
            continue
        if any(_writes(each, variable) for each in (loop.body, *others)):
            continue
        body = Block(loop.location, (loop.body, *others)) if others else loop.body
        return _make_loop(begin, start, loop, variable, step, body)
    return None


def _make_loop(
    begin: Sequence[Statement],
    start: Declare | Assign,
    loop: While,
    variable: Variable,
    step: int,
    body: Statement,
) -> tuple[list[Statement], For]:
    assert start.value is not None
    first = convert_to(start.value, variable.type)
    is_own = isinstance(start, Declare)
    counted = For(loop.location, variable, is_own, first, loop.condition, step, body)
    return [each for each in begin if each is not start], counted


def _count_down(begin: Sequence[Statement], loop: While) -> tuple[list[Statement], For] | None:
    """Match `for (i = first; i-- > last; )`, which is `for (i = first - 1; i >= last; i--)`."""
    if loop.update.statements or len(loop.prelude.statements) != 2 or loop.tests_last:
        return None
    before, update = loop.prelude.statements
    condition = loop.condition
    if not isinstance(before, Declare) or not isinstance(update, Assign):
        return None
    variable = update.target.variable
    start = _find_start(begin, variable)
    is_step = _constant_step(update, variable) == -1 and _is_access(before.value, variable)
    if start is None or not is_step or not variable.type.is_signed or variable.type.bits < INT.bits:
        return None
    if isinstance(condition, Access) and condition.variable is before.variable:
        # `i--` alone ends at zero, but only if it starts at or above it.
        return None
    if not isinstance(condition, Binary) or condition.operator != ">":
        return None
    if not _is_access(condition.left, before.variable) or _uses_in(condition.right, variable):
        return None
    if _writes(loop.body, variable):
        return None
    assert start.value is not None
    one = Literal(loop.location, variable.type, 1)
    first = Binary(loop.location, variable.type, "-", convert_to(start.value, variable.type), one)
    now = convert_to(update.target, condition.left.type)
    test = Binary(condition.location, condition.type, ">=", now, condition.right)
    counted = replace(loop, condition=test, prelude=Block(loop.location, ()))
    moved = replace(start, value=first)
    others = [each for each in begin if each is not start]
    return others, _make_loop(begin, moved, counted, variable, -1, loop.body)[1]


def _find_start(begin: Sequence[Statement], variable: Variable) -> Declare | Assign | None:
    """Return the statement that sets the variable, if nothing else in the start uses it."""
    if variable.is_array or variable.type.is_float or variable.type.is_bool:
        return None
    found: Declare | Assign | None = None
    for each in begin:
        is_start = (isinstance(each, Declare) and each.variable is variable) or (
            isinstance(each, Assign) and each.target.variable is variable
        )
        if is_start and found is None:
            assert isinstance(each, Declare | Assign)
            if each.value is None or _uses_in(each.value, variable):
                return None
            found = each
        elif is_start or _uses(each, variable) or (found is not None and _sets_used(each, found)):
            return None
    return found


def _sets_used(statement: Statement, start: Declare | Assign) -> bool:
    """Whether a statement after the start sets something that its value uses; the start moves
    behind it."""
    assert start.value is not None
    used = {part.variable for part in walk_expression(start.value) if isinstance(part, Access)}
    return any(_writes(statement, variable) for variable in used)


def _compares(condition: Expression, variable: Variable) -> bool:
    return _uses_in(condition, variable)


def _uses(statement: Statement, variable: Variable) -> bool:
    return any(
        _uses_in(expression, variable)
        for inner in walk_statement(statement)
        for expression in direct_expressions(inner)
    )


def _uses_in(expression: Expression, variable: Variable) -> bool:
    return any(_is_access(part, variable) for part in walk_expression(expression))


def _is_access(expression: Expression | None, variable: Variable) -> bool:
    return isinstance(expression, Access) and expression.variable is variable


def _writes(statement: Statement, variable: Variable) -> bool:
    return any(
        (isinstance(inner, Assign) and inner.target.variable is variable)
        or (isinstance(inner, For | Declare) and inner.variable is variable)
        for inner in walk_statement(statement)
    )


def _continues(body: Statement) -> bool:
    return any(isinstance(each, Jump) and each.kind == "continue" for each in walk_statement(body))


def _constant_step(statement: Assign, variable: Variable) -> int | None:
    """Return the constant that a statement adds to the variable, if it does nothing else."""
    if statement.target.variable is not variable:
        return None
    value = statement.value
    while isinstance(value, Convert):
        value = value.operand
    if not isinstance(value, Binary) or value.operator not in ("+", "-"):
        return None
    sides = [_strip_conversions(value.left), _strip_conversions(value.right)]
    if value.operator == "+" and isinstance(sides[0], Literal):
        sides.reverse()
    base, distance = sides
    if not _is_access(base, variable) or not isinstance(distance, Literal):
        return None
    number = distance.value
    if not isinstance(number, int):
        return None
    # A step such as (unsigned)-1 decrements by one.
    if not distance.type.is_signed and number > distance.type.largest // 2:
        number -= distance.type.largest + 1
    return number if value.operator == "+" else -number


def _strip_conversions(expression: Expression) -> Expression:
    """Strip conversions, and apply signs to constants."""
    while isinstance(expression, Convert):
        expression = expression.operand
    if isinstance(expression, Unary) and expression.operator == "-":
        inner = _strip_conversions(expression.operand)
        if isinstance(inner, Literal):
            return Literal(expression.location, inner.type, -inner.value)
    return expression
