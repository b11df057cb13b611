"""Updates of elements whose order does not matter: minima, maxima and bitwise operations of
integers, and sums and products of unsigned ones.

`a[i] = max(a[i], x)` and `a[i] = max(a[i], y)` leave the same element in either order. Two such
instances only depend on each other if one of them also reads, as an operand, what the other writes:
`x` may contain elements of `a`. Orders of a region that differ in pairs of commuting instances, and
preserve all other dependences, can be turned into each other by exchanging neighbors, each of which
leaves memory as it was. So all of them compute the same bits.

Floats are rounded, so their order matters. Sums of signed integers commute as well, but a partial
sum in another order may overflow, which is undefined in the C code that riselang writes.
"""

from __future__ import annotations

from riselang.frontends.c.emit.loop_vectorization import min_or_max
from riselang.frontends.c.model.scop import ModelStatement
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Conditional,
    Expression,
    walk_expression,
)

_BITWISE = ("&", "|", "^")
_ARITHMETIC = {"+": "+", "-": "+", "*": "*"}
"""Operations of unsigned integers, and what they commute with: `a -= x` is `a += -x`."""


def commuting_operation(statement: ModelStatement) -> str | None:
    """Return the operation by which a statement updates an element; updates by the same one
    commute. None if it is another statement."""
    body = statement.body
    if not isinstance(body, Assign) or not body.target.indices:
        return None
    subscript = statement.access_relations.get(body.target)
    if subscript is None or not subscript.is_exact or statement.checked_accesses:
        return None
    if body.target not in statement.must_accesses or body.target.type.is_bool:
        return None
    found = _operation(body.value, body.target)
    if found is None:
        return None
    operation, operand = found
    return None if body.target in walk_expression(operand) else operation


def _operation(value: Expression, target: Access) -> tuple[str, Expression] | None:
    """Return the operation of an update, and its operand; None if it is not an update."""
    if not value.type.is_integer or value.type != target.type:
        return None
    if isinstance(value, Conditional):
        kind = min_or_max(value)
        sides = (value.first, value.second)
    elif isinstance(value, Binary):
        is_known = value.operator in _BITWISE or not value.type.is_signed
        kind = value.operator if value.operator in _BITWISE else _ARITHMETIC.get(value.operator)
        kind = kind if is_known else None
        sides = (value.left, value.right)
    else:
        return None
    if kind is None or target not in sides:
        return None
    if sides[0] != target and isinstance(value, Binary) and value.operator == "-":
        return None
    return kind, sides[1] if sides[0] == target else sides[0]
