"""For loops as while loops, for those that cannot be counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Declare,
    Expression,
    For,
    Literal,
    Unary,
    Variable,
    While,
)
from riselang.frontends.c.parse.typed_nodes import compound_assignment
from riselang.support.errors import SourceLocation


def access_to(variable: Variable, location: SourceLocation) -> Access:
    return Access(location, variable.type, variable, ())


def count_as_while(loop: For) -> Block:
    """Return a loop that computes its variable step by step."""
    location = loop.location
    target = access_to(loop.variable, location)
    start = (
        Declare(location, loop.variable, loop.first)
        if loop.declares_variable
        else Assign(location, target, loop.first)
    )
    step = compound_assignment(location, target, "+", Literal(location, INT, loop.step))
    nothing = Block(location, ())
    update = Block(location, (step,))
    return Block(location, (start, While(location, nothing, loop.condition, loop.body, update)))


def none_of(location: SourceLocation, flags: Sequence[Variable]) -> Expression:
    """Return the condition that no flag is set."""
    accesses: list[Expression] = [access_to(flag, location) for flag in flags]
    any_flag = reduce(lambda a, b: Binary(location, INT, "||", a, b), accesses)
    return Unary(location, INT, "!", any_flag)


def both(left: Expression, right: Expression) -> Expression:
    return Binary(right.location, INT, "&&", left, right)
