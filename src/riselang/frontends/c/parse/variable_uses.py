"""Variables that statements write, read, and need after a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Declare,
    Expression,
    For,
    Statement,
    Variable,
    child_statements,
    direct_expressions,
    walk_expression,
    walk_statement,
    walk_statements,
)


def find_calls(statement: Statement) -> Iterator[Expression]:
    for inner in walk_statement(statement):
        for expression in direct_expressions(inner):
            yield from walk_expression(expression)


def written_variables(statements: Sequence[Statement]) -> Iterator[Variable]:
    """Yield the assigned variables: scalars, loop variables, and arrays with an assigned
    element."""
    for statement in walk_statements(statements):
        match statement:
            case Assign():
                yield statement.target.variable
            case Declare(value=Expression()):
                yield statement.variable
            case For():
                yield statement.variable
            case _:
                pass


def count_assignments(statements: Sequence[Statement]) -> dict[Variable, int]:
    counts: dict[Variable, int] = {}
    for variable in written_variables(statements):
        counts[variable] = counts.get(variable, 0) + 1
    return counts


def used_variables(
    statements: Sequence[Statement], result: Expression | None
) -> Iterator[Variable]:
    for statement in walk_statements(statements):
        for expression in direct_expressions(statement):
            for part in walk_expression(expression):
                if isinstance(part, Access):
                    yield part.variable
        if isinstance(statement, For | Declare):
            yield statement.variable
    for part in walk_expression(result) if result is not None else ():
        if isinstance(part, Access):
            yield part.variable


def loop_variables_live_after(region: Region) -> frozenset[Variable]:
    """Return the loop variables whose values are read after their loops."""
    loops = {each.variable for each in walk_statements(region.statements) if isinstance(each, For)
             and not each.declares_variable}  # fmt: skip
    result = {variable for variable in loops if variable in region.live_after}
    for statement in region.statements:
        result |= _variables_read_outside(statement, loops, frozenset())
    return frozenset(result)


def _variables_read_outside(
    statement: Statement, loops: set[Variable], running: frozenset[Variable]
) -> set[Variable]:
    """Return those of the variables that are read outside their loops."""
    result = {
        part.variable
        for expression in direct_expressions(statement)
        for part in walk_expression(expression)
        if isinstance(part, Access) and part.variable in loops and part.variable not in running
        and not (isinstance(statement, For) and part.variable is statement.variable)
    }  # fmt: skip
    if isinstance(statement, For):
        running = running | {statement.variable}
    for child in child_statements(statement):
        result |= _variables_read_outside(child, loops, running)
    return result
