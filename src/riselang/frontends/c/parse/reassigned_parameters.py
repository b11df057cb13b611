"""Parameters that a function changes, and that are lengths of its arrays.

The arrays keep their lengths, so the function changes copies of these parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from riselang.frontends.c.parse.substitution import substitute_statement
from riselang.frontends.c.parse.syntax import (
    Access,
    Declare,
    Function,
    Statement,
    Variable,
    walk_expression,
    walk_statements,
)
from riselang.frontends.c.parse.variable_uses import written_variables
from riselang.frontends.c.parse.while_loops import access_to


def copy_reassigned(function: Function, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return the statements of a function with copies of the parameters that they change, if these
    are lengths of parameters and of no other array."""
    local = [each.variable for each in walk_statements(statements) if isinstance(each, Declare)]
    kept = _length_variables(local)
    changed = _length_variables(function.parameters) & set(written_variables(statements))
    declared: list[Statement] = []
    for parameter in function.parameters:
        if parameter not in changed - kept:
            continue
        copy = replace(parameter, is_parameter=False)
        location = parameter.location
        declared.append(Declare(location, copy, access_to(parameter, location)))
        values = {parameter: access_to(copy, location)}
        statements = [substitute_statement(each, values) for each in statements]
    return (*declared, *statements)


def _length_variables(variables: Sequence[Variable]) -> set[Variable]:
    return {
        part.variable
        for variable in variables
        for extent in variable.extents
        if extent is not None
        for part in walk_expression(extent)
        if isinstance(part, Access)
    }
