"""Forward gotos: a goto to a label after it, in a block around it, is an exit of the statements
between them.

These statements become a switch with one case, and the goto a break; a goto in nested loops sets a
flag, which is tested after each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Assign,
    Block,
    Case,
    Declare,
    For,
    If,
    Jump,
    Label,
    Literal,
    Statement,
    Switch,
    UnsupportedStatement,
    Variable,
    While,
    walk_statement,
)
from riselang.frontends.c.parse.while_loops import access_to

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
                result[sources[0] : position] = _make_exit(skipped, kind)
                position = result.index(label)
        position += 1
    return [each.body if isinstance(each, Label) else each for each in result]


def refuse_gotos(statement: Statement) -> Statement:
    """Replace the gotos that remain by statements that are not supported."""
    if isinstance(statement, Jump) and statement.kind.startswith(GOTO):
        return UnsupportedStatement(
            statement.location, "goto is not structured control flow", "use loops and if"
        )
    if isinstance(statement, Label):
        return refuse_gotos(statement.body)
    return _map_children(statement, refuse_gotos)


def _jumps(statement: Statement, kind: str) -> bool:
    return any(isinstance(each, Jump) and each.kind == kind for each in walk_statement(statement))


def _make_exit(skipped: Sequence[Statement], kind: str) -> list[Statement]:
    location = skipped[0].location
    flag = Variable("left", INT, location)
    exits = _Exits(kind, flag)
    body = tuple(exits.replace_in(each) for each in skipped)
    switch = Switch(location, Literal(location, INT, 0), (Case((None,), body),))
    declared = Declare(location, flag, Literal(location, INT, 0))
    return [declared, switch] if exits.is_nested else [switch]


@dataclass
class _Exits:
    """Replaces gotos by breaks."""

    kind: str
    flag: Variable
    is_nested: bool = False
    """Whether a goto leaves a nested loop or switch."""

    def replace_in(self, statement: Statement, depth: int = 0) -> Statement:
        location = statement.location
        if isinstance(statement, Jump) and statement.kind == self.kind:
            leave = Jump(location, "break")
            if not depth:
                return leave
            self.is_nested = True
            target = access_to(self.flag, location)
            return Block(location, (Assign(location, target, Literal(location, INT, 1)), leave))
        if not _jumps(statement, self.kind):
            return statement
        inner = depth + isinstance(statement, For | While | Switch)
        changed = _map_children(statement, lambda each: self.replace_in(each, inner))
        if inner == depth:
            return changed
        leave = If(location, access_to(self.flag, location), Jump(location, "break"), None)
        return Block(location, (changed, leave))


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
