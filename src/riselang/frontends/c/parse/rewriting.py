"""Rebuilding statements with changed expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Block,
    Call,
    Declare,
    Evaluate,
    Expression,
    For,
    If,
    Return,
    Statement,
    While,
)

Change = Callable[[Expression], Expression]
Replace = Callable[[Statement], "list[Statement] | None"]


def rewrite_statement(statement: Statement, change: Change, replaced: Replace) -> list[Statement]:
    """Return the statements that replace a statement: those of `replaced`, or else the
    statement with changed expressions and nested statements."""
    found = replaced(statement)
    if found is not None:
        return found

    def block(inner: Statement) -> Statement:
        statements = rewrite_statement(inner, change, replaced)
        return statements[0] if len(statements) == 1 else Block(inner.location, tuple(statements))

    def sequence(inner: Block) -> Block:
        rewritten = (e for s in inner.statements for e in rewrite_statement(s, change, replaced))
        return replace(inner, statements=tuple(rewritten))

    match statement:
        case Assign():
            target = change(statement.target)
            assert isinstance(target, Access)
            return [replace(statement, target=target, value=change(statement.value))]
        case Declare(value=Expression() as value) | Return(value=Expression() as value):
            return [replace(statement, value=change(value))]
        case Evaluate():
            call = change(statement.call)
            return [replace(statement, call=call)] if isinstance(call, Call) else []
        case Block():
            return [sequence(statement)]
        case If(otherwise=otherwise):
            return [replace(
                statement, condition=change(statement.condition), then=block(statement.then),
                otherwise=None if otherwise is None else block(otherwise),
            )]  # fmt: skip
        case For():
            return [replace(
                statement, first=change(statement.first), condition=change(statement.condition),
                body=block(statement.body),
            )]  # fmt: skip
        case While():
            return [replace(
                statement, prelude=sequence(statement.prelude),
                condition=change(statement.condition), body=block(statement.body),
                update=sequence(statement.update),
            )]  # fmt: skip
        case _:
            return [statement]
