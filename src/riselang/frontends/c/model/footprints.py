"""The footprint of a call on each array, checked so that nothing out of bounds is accessed.

Lengths in declarations are compared with those of the arrays that are passed. An access beyond them
is a bug of the C program or of its caller; for all affine accesses it is rejected before anything
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from riselang.frontends.c.emit.bounds_checks import CheckedAccess
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear, Quotient
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.model.scop_parameters import Parameter
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
)
from riselang.runtime.arrays import Array
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property

MAX_BOUND = 1 << 58
"""The limit on any sum in a loop bound; tiles and strides need the headroom above it."""


class Footprints:
    """The elements that each array of a region must have, for the parameters of a call."""

    def __init__(self, scop: Scop):
        self._scop = scop
        self._seen: dict[tuple[object, ...], frozenset[CheckedAccess]] = {}

    def find_unproven_accesses(
        self, scalars: Mapping[Variable, int], arrays: Mapping[Variable, Array]
    ) -> frozenset[CheckedAccess]:
        """Return the accesses that are out of bounds if data-dependent conditions allow them.

        Raise an error for arrays that are too small for the must-accesses.
        """
        shapes = tuple(array.shape for array in arrays.values())
        key = (*scalars.values(), *shapes)
        if key not in self._seen:
            self._check_promises(scalars)
            for variable, array in arrays.items():
                self._check_extents(variable, array, scalars)
            self._seen[key] = self._check_accesses(scalars, arrays)
        return self._seen[key]

    def _check_promises(self, scalars: Mapping[Variable, int]) -> None:
        """Check the conditions that the function assumes."""
        scop = self._scop
        if not scop.context:
            return
        known = {
            name: value for name, value in self.parameter_values(scalars).items()
            if value is not None
        }  # fmt: skip
        given = " and ".join(f"{name} = {value}" for name, value in known.items()) or "0 = 0"
        if scop.context_set.intersect(isl().Set(f"{scop.prefix}{{ : {given} }}")).is_empty():
            assumption = scop.function.assumptions[0]
            conditions = str(scop.context_set.coalesce()).partition(":")[2].strip(" }")
            found = ", ".join(f"{name} is {value}" for name, value in known.items())
            raise UserError(
                f"{scop.name} is compiled for arguments with {conditions}, but {found}",
                assumption.location,
            )

    def _check_accesses(
        self, scalars: Mapping[Variable, int], arrays: Mapping[Variable, Array]
    ) -> frozenset[CheckedAccess]:
        values = self.parameter_values(scalars)
        shapes = {each: self._shape(each, array, scalars) for each, array in arrays.items()}
        shapes |= {each: self._local_shape(each, scalars) for each in self._scop.locals}
        is_known = None not in values.values()
        found: set[CheckedAccess] = set()
        for name, access, elements, is_certain in self._affine_accesses:
            shape = shapes.get(access.variable)
            outside = None if shape is None else _elements_out_of_bounds(elements, shape, values)
            if outside is not None and outside.is_empty():
                continue
            if outside is None or shape is None or not is_certain or not is_known:
                found.add((name, access))
                continue
            where = _format_coordinates(outside.sample_point(), len(shape))
            kind = "argument" if access.variable in arrays else "array"
            whole = arrays[access.variable].shape if access.variable in arrays else tuple(shape)
            raise UserError(
                f"{kind} {access.variable.name}: element {where} is accessed, but the array has "
                f"shape {whole}",
                access.location,
            )
        self._check_overflow(values)
        return frozenset(found)

    def _check_overflow(self, values: Mapping[str, int | None]) -> None:
        """Check for overflow: the model is exact, but loop bounds are computed in 64 bits."""
        largest = max((abs(value) for value in values.values() if value is not None), default=0)
        if (largest + 1) * self._bound_factor > MAX_BOUND:
            raise UserError(
                f"{self._scop.name}: loop bounds do not fit into 64 bits if a size is "
                f"{largest}, or its negative; pass smaller sizes",
                self._scop.location,
            )

    @cached_property
    def _bound_factor(self) -> int:
        """The largest factor between the largest parameter and a loop bound."""
        dims = isl().dim_type
        found = 1
        for statement in self._scop.statements:
            for part in statement.domain.get_basic_sets():
                for constraint in part.get_constraints():
                    factors = [
                        constraint.get_coefficient_val(kind, at)
                        for kind in (dims.param, dims.set)
                        for at in range(part.dim(kind))
                    ]
                    factors.append(constraint.get_constant_val())
                    found = max(found, sum(abs(each.to_python()) for each in factors))
        return found

    def parameter_values(self, scalars: Mapping[Variable, int]) -> dict[str, int | None]:
        """Return the values of the parameters in a call; None where they are not known."""
        return {p.name: self._parameter_value(p, scalars) for p in self._scop.parameters}

    def _check_extents(
        self, variable: Variable, array: Array, scalars: Mapping[Variable, int]
    ) -> None:
        """Check that the array has the lengths that its declaration computes."""
        if len(variable.extents) == 1 and variable.extents[0] is None:
            return
        for at, (extent, found) in enumerate(zip(variable.extents, array.shape, strict=True)):
            if extent is None:
                continue
            wanted = evaluate_expression(extent, scalars)
            if wanted is None:
                raise UserError(
                    f"argument {variable.name}: the length of dimension {at} in the declaration is "
                    "not known before the call",
                    variable.location,
                )
            if wanted != found:
                raise UserError(
                    f"argument {variable.name}: dimension {at} is {found}, but the declaration "
                    f"requires {wanted}"
                )

    def _parameter_value(self, parameter: Parameter, scalars: Mapping[Variable, int]) -> int | None:
        source = parameter.source
        if isinstance(source, tuple):
            total = 1
            for factor in source:
                value = self._evaluate_linear(factor, scalars)
                if value is None:
                    return None
                total *= value
            return total
        if isinstance(source, Variable):
            return scalars.get(source)
        return evaluate_expression(source, scalars)

    def _evaluate_linear(self, linear: Linear, scalars: Mapping[Variable, int]) -> int | None:
        names = {p.name: p for p in self._scop.parameters}
        total = linear.constant
        for atom, factor in linear.terms:
            if isinstance(atom, str):
                value = self._parameter_value(names[atom], scalars) if atom in names else None
            else:
                inner = self._evaluate_linear(atom.dividend, scalars)
                if inner is None:
                    return None
                is_quotient = isinstance(atom, Quotient)
                value = inner // atom.divisor if is_quotient else inner % atom.divisor
            if value is None:
                return None
            total += factor * value
        return total

    @cached_property
    def _affine_accesses(self) -> list[tuple[str, Access, Any, bool]]:
        """The affine accesses: the statement, the elements, and whether they are must-accesses."""
        return [
            (statement.name, access, (subscript.conditional_relation or subscript.relation).range(),
             access in statement.must_accesses)
            for statement in self._scop.statements
            for access, subscript in statement.access_relations.items()
            if access.indices and subscript.is_exact
        ]  # fmt: skip

    def _local_shape(self, variable: Variable, scalars: Mapping[Variable, int]) -> list[int]:
        """Return the lengths of a local array; raise an error for those that do not fit in
        memory."""
        shape: list[int] = []
        for extent in variable.extents:
            length = None if extent is None else evaluate_expression(extent, scalars)
            if length is None or length < 0:
                found = "not known before the call" if length is None else str(length)
                raise UserError(
                    f"array {variable.name}: expected lengths that are not negative, but one is "
                    f"{found}",
                    variable.location,
                )
            shape.append(length)
        try:
            np.empty(shape, variable.type.dtype)
        except (MemoryError, ValueError):
            raise UserError(
                f"array {variable.name}: not enough memory for {' x '.join(map(str, shape))} "
                f"elements of {variable.type}",
                variable.location,
            ) from None
        return shape

    def _shape(
        self, variable: Variable, array: Array, scalars: Mapping[Variable, int]
    ) -> list[int] | None:
        """Return the lengths that subscripts must stay below, in the region's view of the array."""
        view = self._scop.views.get(variable)
        if view is None or len(view.extents) == len(variable.extents):
            flat = len(variable.extents) == 1
            return [array.size] if flat else list(array.shape)
        inner: list[int] = []
        for extent in view.extents[1:]:
            assert isinstance(extent, tuple)
            length = 1
            for factor in extent:
                value = self._evaluate_linear(factor, scalars)
                if value is None:
                    return None
                length *= value
            inner.append(length)
        row = 1
        for length in inner:
            row *= max(length, 1)
        return [array.size // row, *inner]


def _elements_out_of_bounds(
    elements: Any, shape: list[int], values: Mapping[str, int | None]
) -> Any:
    return _substitute_parameters(elements, values).subtract(_bounding_box(elements, shape))


def _substitute_parameters(elements: Any, values: Mapping[str, int | None]) -> Any:
    """Substitute the known parameter values in a set of elements."""
    dims = isl().dim_type
    for at in range(elements.dim(dims.param)):
        value = values.get(elements.get_dim_name(dims.param, at))
        if value is not None:
            elements = elements.fix_val(dims.param, at, isl().Val(value))
    return elements


def _bounding_box(elements: Any, shape: list[int]) -> Any:
    dims = isl().dim_type
    box = isl().Set.universe(elements.get_space())
    for at, length in enumerate(shape):
        box = box.lower_bound_val(dims.set, at, isl().Val(0))
        box = box.upper_bound_val(dims.set, at, isl().Val(length - 1))
    return box


def _format_coordinates(point: Any, rank: int) -> str:
    dims = isl().dim_type
    values = [int(point.get_coordinate_val(dims.set, at).to_python()) for at in range(rank)]
    return "".join(f"[{value}]" for value in values)


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip


def evaluate_expression(expression: Expression, scalars: Mapping[Variable, int]) -> int | None:
    """Evaluate an integer expression of parameters; None where its value is not known."""
    match expression:
        case Literal(value=int(value)):
            return value
        case Access(variable=variable, indices=()):
            return scalars.get(variable)
        case Convert() | Unary() if expression.operand.type.is_integer:
            value = evaluate_expression(expression.operand, scalars)
            return None if value is None else _evaluate_unary(expression, value)
        case Binary(left=left, right=right) if left.type.is_integer:
            first, second = evaluate_expression(left, scalars), evaluate_expression(right, scalars)
            if first is None or second is None:
                return None
            value = _evaluate_binary(expression, first, second)
            return None if value is None else expression.type.wrap(value)
        case Conditional():
            condition = evaluate_expression(expression.condition, scalars)
            if condition is None:
                return None
            return evaluate_expression(
                expression.first if condition else expression.second, scalars
            )
        case _:
            return None


def _evaluate_unary(expression: Convert | Unary, value: int) -> int:
    match expression:
        case Unary(operator="-"):
            value = -value
        case Unary(operator="~"):
            value = ~value
        case Unary():
            value = int(not value)
        case _:
            pass
    return expression.type.wrap(value)


def _evaluate_binary(expression: Binary, left: int, right: int) -> int | None:
    """Evaluate as compiled code does, before wrapping to the type."""
    operator, bits = expression.operator, expression.type.bits
    if operator in _OPERATIONS:
        return int(_OPERATIONS[operator](left, right))
    if operator in ("<<", ">>"):
        return left << right % bits if operator == "<<" else left >> right % bits
    if operator not in ("/", "%") or not right:
        return None
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if operator == "/" else left - quotient * right
