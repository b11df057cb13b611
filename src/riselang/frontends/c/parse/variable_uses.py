"""Variables that statements write, read, and need after a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Block,
    Declare,
    Expression,
    For,
    If,
    Statement,
    Variable,
    expressions_of,
    inside,
    statements_of,
)


def all_of(statements: Sequence[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield from statements_of(statement)


def calls_in(statement: Statement) -> Iterator[Expression]:
    for inner in statements_of(statement):
        for expression in expressions_of(inner):
            yield from inside(expression)


def written_in(statements: Sequence[Statement]) -> Iterator[Variable]:
    """Yield the assigned variables: scalars, loop variables, and arrays with an assigned
    element."""
    for statement in all_of(statements):
        match statement:
            case Assign():
                yield statement.target.variable
            case Declare(value=Expression()):
                yield statement.variable
            case For():
                yield statement.variable
            case _:
                pass


def assignments_in(statements: Sequence[Statement]) -> dict[Variable, int]:
    counts: dict[Variable, int] = {}
    for variable in written_in(statements):
        counts[variable] = counts.get(variable, 0) + 1
    return counts


def used_in(statements: Sequence[Statement], result: Expression | None) -> Iterator[Variable]:
    for statement in all_of(statements):
        for expression in expressions_of(statement):
            for part in inside(expression):
                if isinstance(part, Access):
                    yield part.variable
        if isinstance(statement, For | Declare):
            yield statement.variable
    for part in inside(result) if result is not None else ():
        if isinstance(part, Access):
            yield part.variable


def needed_after(region: Region) -> frozenset[Variable]:
    """Return the loop variables whose values are read after their loops."""
    loops = {each.variable for each in all_of(region.statements) if isinstance(each, For)
             and not each.is_own}  # fmt: skip
    found = {variable for variable in loops if variable in region.live_after}
    for statement in region.statements:
        found |= _read_outside(statement, loops, frozenset())
    return frozenset(found)


def _read_outside(
    statement: Statement, loops: set[Variable], running: frozenset[Variable]
) -> set[Variable]:
    """Return those of the variables that are read outside their loops."""
    found = {
        part.variable
        for expression in expressions_of(statement)
        for part in inside(expression)
        if isinstance(part, Access) and part.variable in loops and part.variable not in running
        and not (isinstance(statement, For) and part.variable is statement.variable)
    }  # fmt: skip
    if isinstance(statement, For):
        running = running | {statement.variable}
    match statement:
        case Block():
            children: tuple[Statement, ...] = statement.statements
        case If():
            rest = () if statement.otherwise is None else (statement.otherwise,)
            children = (statement.then, *rest)
        case For():
            children = (statement.body,)
        case _:
            children = ()
    for child in children:
        found |= _read_outside(child, loops, running)
    return found
