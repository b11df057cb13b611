"""Broadcasting: functions on scalars, applied to arrays of different shapes.

Each axis of the result becomes one `map`, over the `zip` of the operands that have the axis. The
function captures the other operands, and the only element of an operand whose length is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riselang.dialects.rise.types import ScalarType
from riselang.dsl import patterns
from riselang.dsl.arrays.shapes import (
    Shape,
    element_type,
    format_shape,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import Helper
from riselang.dsl.symbolic_values import Value, convert
from riselang.dsl.tracing import type_text
from riselang.dsl.type_promotion import promoted_type
from riselang.nat import Nat

ScalarFunction = Callable[..., Any]


def map_elements(
    name: str, function: ScalarFunction, operands: Sequence[Any], ranks: Sequence[int] = ()
) -> Value:
    """Apply a function to the elements of the operands, which are broadcast to one shape.

    The elements are scalars, or arrays of these `ranks`, one for each operand.
    """
    depths = [rank_of(operand) for operand in operands]
    if ranks:
        depths = [depth - rank for depth, rank in zip(depths, ranks, strict=True)]
    shapes = [shape_of(operand)[:depth] for operand, depth in zip(operands, depths, strict=True)]
    return _map_axes(function, broadcast_lengths(name, shapes), operands, depths)


def check_equal_types(name: str, operands: Sequence[Any]) -> None:
    """Reject operands whose elements are scalars of different types."""
    values = [operand for operand in operands if isinstance(operand, Value)]
    scalars = [value for value in values if isinstance(element_type(value), ScalarType)]
    for value in scalars[1:]:
        if (type := element_type(scalars[0])) != element_type(value):
            refuse(
                f"'{name}' cannot be applied to {type_text(scalars[0].type)} and "
                f"{type_text(value.type)}; convert one of them, as in "
                f"x.astype(rl.{type_text(type)})"
            )


def promote_arrays(operands: Sequence[Any]) -> list[Any]:
    """Convert arrays and scalars whose elements are of different types to their common type."""
    values = [operand for operand in operands if isinstance(operand, Value)]
    types = {element_type(value) for value in values}
    scalars = [type for type in types if isinstance(type, ScalarType)]
    if len(types) < 2 or len(scalars) < len(types):
        return list(operands)
    common = promoted_type(scalars)
    return [
        convert(each, common) if isinstance(each, Value) and element_type(each) != common else each
        for each in operands
    ]


def broadcast_to(name: str, value: Any, shape: Shape) -> Value:
    """Return an array of this shape; the value is repeated along the axes that it lacks."""
    if broadcast_lengths(name, [shape_of(value), shape]) != shape:
        refuse(
            f"{name}: a value of shape {format_shape(shape_of(value))} cannot be broadcast to "
            f"{format_shape(shape)}"
        )
    return _repeat(value, shape)


def _repeat(value: Any, shape: Shape) -> Any:
    if shape_of(value) == shape:
        return value
    length, *inner = shape
    if rank_of(value) < len(shape):
        return patterns.generate(lambda _: _repeat(value, tuple(inner)), n=length)
    if value.type.length != length:
        element = value[0]
        return patterns.generate(lambda _: _repeat(element, tuple(inner)), n=length)
    return patterns.map(lambda row: _repeat(row, tuple(inner)), value)


def broadcast_shapes(name: str, operands: Sequence[Any]) -> Shape:
    return broadcast_lengths(name, [shape_of(operand) for operand in operands])


def broadcast_lengths(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape to which these are broadcast; axes are aligned from the last."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Nat] = []
    for axis in range(-rank, 0):
        lengths = [shape[axis] for shape in shapes if len(shape) >= -axis]
        result.append(_common_length(name, lengths, shapes))
    return tuple(result)


def _common_length(name: str, lengths: Sequence[Nat], shapes: Sequence[Shape]) -> Nat:
    known = [length for length in lengths if length != 1]
    if not known:
        return lengths[0]
    # An unknown length is unified with the others where the arrays are zipped.
    first = next((length for length in known if not _is_unknown(length)), known[0])
    for length in known:
        if length != first and not _is_unknown(length):
            texts = " and ".join(format_shape(shape) for shape in shapes if shape)
            refuse(
                f"'{name}' cannot broadcast the shapes {texts}: the lengths {first} and {length} "
                "differ, and neither is 1; axes are aligned from the last one"
            )
    return first


def _is_unknown(length: Nat) -> bool:
    return any(variable.startswith("?") for variable in length.variables)


def _map_axes(
    function: ScalarFunction, shape: Shape, operands: Sequence[Any], depths: Sequence[int]
) -> Any:
    """Map over the axes in `shape`; an operand has the last ones, as many as its depth."""
    if not shape:
        return function(*operands)
    length, *inner = shape
    values = list(operands)
    zipped: list[int] = []
    for position, operand in enumerate(operands):
        if depths[position] < len(shape):
            continue
        if operand.type.length == 1 and length != 1:
            values[position] = operand[0]
        else:
            zipped.append(position)
    inner_depths = [min(depth, len(inner)) for depth in depths]

    def apply(*elements: Any) -> Any:
        inputs = dict(zip(zipped, elements, strict=True))
        replaced = [inputs.get(position, value) for position, value in enumerate(values)]
        return _map_axes(function, tuple(inner), replaced, inner_depths)

    return map_zipped(apply, [values[position] for position in zipped])


def map_zipped(function: ScalarFunction, arrays: Sequence[Value]) -> Value:
    """Apply a function to the corresponding elements of one or more arrays of equal length."""
    named: dict[int, ScalarFunction] = {
        1: lambda a: function(a),
        2: lambda a, b: function(a, b),
        3: lambda a, b, c: function(a, b, c),
    }
    count = len(arrays)
    return patterns.map(
        named.get(count) or Helper(function, count),
        patterns.zip(*arrays) if count > 1 else arrays[0],
    )
