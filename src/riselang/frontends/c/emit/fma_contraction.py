"""FMA contraction: the float permission `contract` fuses multiplications and additions.

It is decided here, on the source, for each expression: the leftmost product of a sum is contracted,
unless the sum is added to an accumulator. See Note [Accumulators].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeGuard

from riselang.frontends.c.model.accumulators import replace_accumulators
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.substitution import map_operands
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Declare,
    Expression,
    Fma,
    For,
    If,
    Statement,
    Unary,
    Variable,
    While,
    walk_expression,
    walk_statement,
)

_NONE: frozenset[Variable] = frozenset()


# Note [Accumulators]
#
# In `for (i = 0; i < n; i++) sum += a[i] * b[i];`, each addition waits for the previous one. The
# product does not: it is computed in advance, and an addition has a lower latency than an fma on
# most CPUs (2 or 3 cycles instead of 4). So it is not contracted if the accumulator is a
# scalar. Where an element of an array can replace the scalar (`accumulators.py`), many sums are
# computed at the same time: throughput counts, and of that an fma needs half.


def contract_scop(scop: Scop) -> Scop:
    """Contract products and sums in a region."""
    result, written = scop.result, scop.as_written
    chains = _find_chains(replace_accumulators(scop))
    return replace(
        scop,
        statements=tuple(
            replace(each, body=_contract_body(each.body, chains.get(each.name, _NONE)))
            for each in scop.statements
        ),
        result=None if result is None else _contract_expression(result),
        as_written=None if written is None else contract_scop(written),
    )


def _find_chains(scop: Scop) -> dict[str, frozenset[Variable]]:
    """Return the scalar accumulators of the innermost loop around each statement, by its name."""
    loops: dict[tuple[str, ...], list[Statement]] = {}
    for each in scop.statements:
        names = tuple(name for _, name in each.iterators)
        for depth in range(1, len(names) + 1):
            loops.setdefault(names[:depth], []).append(each.body)
    accumulators = {names: _accumulators(bodies) for names, bodies in loops.items()}
    return {
        each.name: accumulators.get(tuple(name for _, name in each.iterators), _NONE)
        for each in scop.statements
    }


def _accumulators(statements: Iterable[Statement]) -> frozenset[Variable]:
    """Return the scalars of which each assignment computes a new value from the old one."""
    found: set[Variable] = set()
    others: set[Variable] = set()
    for statement in statements:
        for inner in walk_statement(statement):
            if isinstance(inner, Assign) and not inner.target.variable.is_array:
                variable = inner.target.variable
                (found if _reads(inner.value, variable) else others).add(variable)
            elif isinstance(inner, Declare):
                others.add(inner.variable)
    return frozenset(found - others)


def _reads(expression: Expression, variable: Variable) -> bool:
    return any(
        isinstance(part, Access) and part.variable is variable
        for part in walk_expression(expression)
    )


def _contract_body(statement: Statement, chains: frozenset[Variable]) -> Statement:
    match statement:
        case Assign():
            own = chains & {statement.target.variable}
            return replace(statement, value=_contract_expression(statement.value, own))
        case Declare(value=Expression() as value):
            return replace(statement, value=_contract_expression(value))
        case Block():
            return _contract_block(statement, chains)
        case If():
            otherwise = statement.otherwise
            return replace(
                statement,
                condition=_contract_expression(statement.condition),
                then=_contract_body(statement.then, chains),
                otherwise=None if otherwise is None else _contract_body(otherwise, chains),
            )
        case For():
            return replace(
                statement, body=_contract_body(statement.body, _accumulators([statement.body]))
            )
        case While():
            parts = (statement.prelude, statement.body, statement.update)
            own = _accumulators(parts)
            return replace(
                statement,
                prelude=_contract_block(statement.prelude, own),
                condition=_contract_expression(statement.condition),
                body=_contract_body(statement.body, own),
                update=_contract_block(statement.update, own),
            )
        case _:
            return statement


def _contract_block(block: Block, chains: frozenset[Variable]) -> Block:
    inner = tuple(_contract_body(each, chains) for each in block.statements)
    return replace(block, statements=inner)


def _contract_expression(expression: Expression, chains: frozenset[Variable] = _NONE) -> Expression:
    """Contract products and sums, except sums that are added to a variable of `chains`."""
    contracted = map_operands(expression, lambda inner: _contract_expression(inner, chains))
    if (
        not isinstance(contracted, Binary)
        or not contracted.type.is_float
        or contracted.operator not in "+-"
    ):
        return contracted
    left, right, location = contracted.left, contracted.right, contracted.location
    is_minus = contracted.operator == "-"
    if _is_product(left):
        if any(_reads(right, each) for each in chains):
            return contracted
        return Fma(location, contracted.type, left.left, left.right, _apply_sign(right, is_minus))
    if _is_product(right):
        if any(_reads(left, each) for each in chains):
            return contracted
        return Fma(location, contracted.type, _apply_sign(right.left, is_minus), right.right, left)
    return contracted


def _is_product(expression: Expression) -> TypeGuard[Binary]:
    return isinstance(expression, Binary) and expression.operator == "*"


def _apply_sign(expression: Expression, is_minus: bool) -> Expression:
    if not is_minus:
        return expression
    return Unary(expression.location, expression.type, "-", expression)
