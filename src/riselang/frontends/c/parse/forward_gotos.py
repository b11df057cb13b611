"""Forward gotos: a goto to a label after it, in a block around it, is an exit of the statements
between them.

These statements become a switch with one case, which the goto leaves as a break would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Block,
    Case,
    For,
    If,
    Jump,
    Label,
    Literal,
    Statement,
    Switch,
    UnsupportedStatement,
    While,
    walk_statement,
)

GOTO = "goto "
"""The prefix of the kind of a jump to a label."""


def remove_forward_gotos(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a block without gotos to its labels, if the labels come later."""
    result = list(statements)
    position = 0
    while position < len(result):
        label = result[position]
        if isinstance(label, Label):
            kind = f"{GOTO}{label.name}"
            sources = [at for at in range(position) if _jumps(result[at], kind)]
            if sources:
                skipped = result[sources[0] : position]
                result[sources[0] : position] = [_make_exit(skipped, kind)]
                position = result.index(label)
        position += 1
    return [each.body if isinstance(each, Label) else each for each in result]


def refuse_gotos(statement: Statement, exits: frozenset[str] = frozenset()) -> Statement:
    """Replace the gotos that remain by statements that are not supported; `exits` are the labels
    at the ends of the statements around."""
    if isinstance(statement, Jump) and statement.kind.startswith(GOTO):
        if statement.kind in exits:
            return statement
        return UnsupportedStatement(
            statement.location, "goto is not structured control flow", "use loops and if"
        )
    if isinstance(statement, Label):
        return refuse_gotos(statement.body, exits)
    if isinstance(statement, Switch):
        exits |= {statement.exit}
    return _map_children(statement, lambda each: refuse_gotos(each, exits))


def _jumps(statement: Statement, kind: str) -> bool:
    return any(isinstance(each, Jump) and each.kind == kind for each in walk_statement(statement))


def _make_exit(skipped: Sequence[Statement], kind: str) -> Switch:
    """Return statements as a switch with one case, which jumps of a kind leave."""
    location = skipped[0].location
    case = Case((None,), tuple(skipped))
    return Switch(location, Literal(location, INT, 0), (case,), kind)


def _map_children(statement: Statement, change: Callable[[Statement], Statement]) -> Statement:
    """Return a statement with changed nested statements."""

    def block(inner: Block) -> Block:
        return replace(inner, statements=tuple(map(change, inner.statements)))

    match statement:
        case Block():
            return block(statement)
        case Label(body=body):
            return replace(statement, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(
                statement, then=change(then),
                otherwise=None if otherwise is None else change(otherwise),
            )  # fmt: skip
        case For(body=body):
            return replace(statement, body=change(body))
        case While(body=body):
            return replace(statement, body=change(body))
        case Switch(cases=cases):
            return replace(statement, cases=tuple(
                replace(each, statements=tuple(map(change, each.statements))) for each in cases
            ))  # fmt: skip
        case UnsupportedStatement(children=children):
            return replace(statement, children=tuple(map(change, children)))
        case _:
            return statement
