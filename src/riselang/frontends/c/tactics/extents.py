"""The lengths of arrays as sums of parameters."""

from __future__ import annotations

from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Binary, Convert, Expression, Literal, Variable


def declared_extents(scop: Scop, variable: Variable) -> tuple[Linear | None, ...]:
    """Return the declared lengths of the dimensions; None for one that is not declared."""
    if not variable.is_array:
        return ()
    view = scop.views.get(variable)
    found = view.extents if view is not None else variable.extents
    return tuple(None if each is None else _read_extent(scop, each) for each in found)


def _read_extent(scop: Scop, extent: Expression | tuple[Linear, ...]) -> Linear | None:
    if isinstance(extent, tuple):
        return extent[0] if len(extent) == 1 else None
    match extent:
        case Literal(value=int() as value):
            return Linear(value)
        case Access(variable=variable, indices=()) if variable.type.is_integer:
            return Linear.of(scop.names.name_of(variable))
        case Convert() if extent.type.is_integer:
            return _read_extent(scop, extent.operand)
        case Binary(operator="+" | "-" | "*") if extent.type.is_signed:
            return _combine_extents(
                extent, _read_extent(scop, extent.left), _read_extent(scop, extent.right)
            )
        case _:
            return None


def _combine_extents(extent: Binary, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if extent.operator == "+":
        return left + right
    if extent.operator == "-":
        return left - right
    number, other = (left, right) if left.is_constant else (right, left)
    return other.times(number.constant) if number.is_constant else None
