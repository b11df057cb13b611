"""What a call may touch of each array, so that nothing outside of it is touched.

Lengths that declarations give are compared with those of the arrays that are passed. What is
accessed beyond them is a mistake of the C program, or of its caller; it is refused before anything
happens, for all accesses that are affine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riselang.errors import UserError
from riselang.frontends.c.linear import Linear, Quotient
from riselang.frontends.c.model import Scop
from riselang.frontends.c.parameters import Parameter
from riselang.frontends.c.polyhedra import isl
from riselang.frontends.c.syntax import (
    Access,
    Binary,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
)
from riselang.lazy import cached_property
from riselang.runtime.arrays import Array


class Footprints:
    """The elements that each array of a region must have, for the parameters of a call."""

    def __init__(self, scop: Scop):
        self._scop = scop
        self._seen: set[tuple[object, ...]] = set()

    def check(self, scalars: Mapping[Variable, int], arrays: Mapping[Variable, Array]) -> None:
        """Refuses arrays that are too small for what is accessed."""
        shapes = tuple(array.shape for array in arrays.values())
        key = (*scalars.values(), *shapes)
        if key in self._seen:
            return
        for variable, array in arrays.items():
            self._check_extents(variable, array, scalars)
        values = self.values(scalars)
        for variable, ranges in self._ranges.items():
            if variable in arrays:
                self._check_ranges(variable, ranges, arrays[variable], values, scalars)
        self._seen.add(key)

    def values(self, scalars: Mapping[Variable, int]) -> dict[str, int | None]:
        """What parameters are in a call; None where that is not known."""
        return {p.name: self._value(p, scalars) for p in self._scop.parameters}

    def _check_extents(
        self, variable: Variable, array: Array, scalars: Mapping[Variable, int]
    ) -> None:
        """The lengths that the declaration computes are those of the array."""
        if len(variable.extents) == 1 and variable.extents[0] is None:
            return
        for at, (extent, found) in enumerate(zip(variable.extents, array.shape, strict=True)):
            wanted = None if extent is None else evaluated(extent, scalars)
            if wanted is not None and wanted != found:
                raise UserError(
                    f"argument {variable.name}: dimension {at} is {found}, but the declaration "
                    f"says {wanted}"
                )

    def _value(self, parameter: Parameter, scalars: Mapping[Variable, int]) -> int | None:
        source = parameter.source
        if isinstance(source, tuple):
            total = 1
            for factor in source:
                value = self._linear(factor, scalars)
                if value is None:
                    return None
                total *= value
            return total
        if isinstance(source, Variable):
            return scalars.get(source)
        return evaluated(source, scalars)

    def _linear(self, linear: Linear, scalars: Mapping[Variable, int]) -> int | None:
        names = {p.name: p for p in self._scop.parameters}
        total = linear.constant
        for atom, factor in linear.terms:
            if isinstance(atom, str):
                value = self._value(names[atom], scalars) if atom in names else None
            else:
                inner = self._linear(atom.dividend, scalars)
                if inner is None:
                    return None
                is_quotient = isinstance(atom, Quotient)
                value = inner // atom.divisor if is_quotient else inner % atom.divisor
            if value is None:
                return None
            total += factor * value
        return total

    @cached_property
    def _ranges(self) -> dict[Variable, list[Any]]:
        """For each array the sets of elements that affine accesses touch."""
        found: dict[Variable, list[Any]] = {}
        for statement in self._scop.statements:
            for access, subscript in statement.subscripts.items():
                is_certain = access in statement.certain
                if access.variable.is_array and subscript.is_exact and is_certain:
                    elements = subscript.relation.range()
                    found.setdefault(access.variable, []).append(elements)
        return found

    def _check_ranges(
        self,
        variable: Variable,
        ranges: list[Any],
        array: Array,
        values: Mapping[str, int | None],
        scalars: Mapping[Variable, int],
    ) -> None:
        shape = self._shape(variable, array, scalars)
        if shape is None:
            return
        for elements in ranges:
            outside = _fixed(elements, values).subtract(_box(elements, shape))
            if not outside.is_empty():
                point = outside.sample_point()
                where = _coordinates(point, len(shape))
                raise UserError(
                    f"argument {variable.name}: element {where} is accessed, but the array has "
                    f"shape {array.shape}"
                )

    def _shape(
        self, variable: Variable, array: Array, scalars: Mapping[Variable, int]
    ) -> list[int] | None:
        """The lengths that subscripts must stay below, as the region sees the array."""
        view = self._scop.views.get(variable)
        if view is None or len(view.extents) == len(variable.extents):
            flat = len(variable.extents) == 1
            return [array.size] if flat else list(array.shape)
        inner: list[int] = []
        for extent in view.extents[1:]:
            assert isinstance(extent, tuple)
            length = 1
            for factor in extent:
                value = self._linear(factor, scalars)
                if value is None:
                    return None
                length *= value
            inner.append(length)
        row = 1
        for length in inner:
            row *= max(length, 1)
        return [array.size // row, *inner]


def _fixed(elements: Any, values: Mapping[str, int | None]) -> Any:
    """A set of elements at the values of parameters that are known."""
    dims = isl().dim_type
    for at in range(elements.dim(dims.param)):
        value = values.get(elements.get_dim_name(dims.param, at))
        if value is not None:
            elements = elements.fix_val(dims.param, at, isl().Val(value))
    return elements


def _box(elements: Any, shape: list[int]) -> Any:
    dims = isl().dim_type
    box = isl().Set.universe(elements.get_space())
    for at, length in enumerate(shape):
        box = box.lower_bound_val(dims.set, at, isl().Val(0))
        box = box.upper_bound_val(dims.set, at, isl().Val(length - 1))
    return box


def _coordinates(point: Any, rank: int) -> str:
    dims = isl().dim_type
    values = [int(point.get_coordinate_val(dims.set, at).to_python()) for at in range(rank)]
    return "".join(f"[{value}]" for value in values)


_OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def evaluated(expression: Expression, scalars: Mapping[Variable, int]) -> int | None:
    """The value of an integer expression of parameters; None where it is not known."""
    match expression:
        case Literal(value=int(value)):
            return value
        case Access(variable=variable, indices=()):
            return scalars.get(variable)
        case Convert() if expression.operand.type.is_integer:
            value = evaluated(expression.operand, scalars)
            return None if value is None else expression.type.wrapped(value)
        case Unary(operator="-"):
            value = evaluated(expression.operand, scalars)
            return None if value is None else expression.type.wrapped(-value)
        case Binary(operator=operator) if operator in _OPERATIONS:
            left = evaluated(expression.left, scalars)
            right = evaluated(expression.right, scalars)
            if left is None or right is None:
                return None
            return expression.type.wrapped(_OPERATIONS[operator](left, right))
        case Binary(operator="/" | "%" as operator):
            left = evaluated(expression.left, scalars)
            right = evaluated(expression.right, scalars)
            if left is None or not right:
                return None
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if operator == "/" else left - quotient * right
        case Conditional():
            return None
        case _:
            return None
