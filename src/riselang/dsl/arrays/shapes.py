"""The shapes of values, axes, and functions applied to the arrays at a depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, TypeVariable, is_float
from riselang.dsl import patterns
from riselang.dsl.diagnostics import refuse
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, as_node, capture_arrays, convert
from riselang.dsl.tracing import current_trace, type_text, value_text
from riselang.nat import Nat
from riselang.support.counts import format_count
from riselang.term.finish import default_literals

Shape = tuple[Nat, ...]


def is_array(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, ArrayType)


def shape_of(value: Any) -> Shape:
    """Return the lengths of an array from the outermost to the innermost; none for a scalar."""
    lengths: list[Nat] = []
    type = value.type if isinstance(value, Value) else None
    while isinstance(type, ArrayType):
        lengths.append(type.length)
        type = type.element
    return tuple(lengths)


def rank_of(value: Any) -> int:
    return len(shape_of(value))


def element_type(value: Any) -> RiseType:
    """Return the type of the elements of an array; that of a scalar is its own."""
    if not isinstance(value, Value):
        refuse(f"expected an array, but found {value_text(value)}")
    type = value.type
    while isinstance(type, ArrayType):
        type = type.element
    return type


def scalar_dtype(name: str, value: Value) -> ScalarType:
    """Return the scalar type of the elements; `name` is the operation that needs it."""
    inference = current_trace().inference
    type = current_trace().settle_number(element_type(value))
    if isinstance(type, TypeVariable):
        default_literals(value.node, type, inference)
        type = inference.resolve(type)
    if not isinstance(type, ScalarType):
        refuse(f"{name} works on scalars and arrays of scalars, but found {type_text(value.type)}")
    return type


def is_float_array(name: str, value: Value) -> bool:
    """Whether the elements are floats."""
    return is_float(scalar_dtype(name, value))


def as_array(name: str, value: Any, min_rank: int = 1) -> Value:
    """Return a value, or a captured array, that must be an array of at least this rank."""
    (value,) = capture_arrays([value])
    if not isinstance(value, Value) or rank_of(value) < min_rank:
        found = type_text(value.type) if isinstance(value, Value) else value_text(value)
        expected = "an array" if min_rank == 1 else f"an array of {min_rank} or more dimensions"
        refuse(f"{name}: expected {expected}, but found {found}")
    return value


def literal_of(number: float | bool, type: RiseType) -> Value:
    return Value(as_node(number, type))


def length_value(length: Nat, type: ScalarType) -> Value:
    """Return a length as a scalar of the program."""
    if length.is_constant:
        return literal_of(length.constant, type)
    return convert(patterns.size_of(patterns.generate(lambda i: i, n=length)), type)


def product(lengths: Iterable[Nat]) -> Nat:
    result = Nat.const(1)
    for length in lengths:
        result = result * length
    return result


def visible_length(length: Nat) -> int | Nat:
    """Return a length as users see it: a number if it is known."""
    return length.constant if length.is_constant else length


def format_shape(shape: Sequence[Nat]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def as_shape(name: str, shape: Any) -> Shape:
    """Return one size or a sequence of sizes as a shape."""
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(as_size(size, name) for size in sizes)


def normalize_axis(name: str, axis: Any, rank: int) -> int:
    """Return an axis counted from the front; -1 is the last one."""
    try:
        if isinstance(axis, bool):
            raise TypeError
        number = index(axis)
    except TypeError:
        refuse(f"{name}: an axis is an integer, but found {value_text(axis)}")
    if not -rank <= number < rank:
        refuse(f"{name}: axis {number} does not exist; the array has {dimensions(rank)}")
    return number % rank


def normalize_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that users pass as None (all of them), a number, or a tuple."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    result = tuple(normalize_axis(name, each, rank) for each in axes)
    if len(set(result)) < len(result):
        refuse(f"{name}: the axes {axis!r} contain one axis more than once")
    return result


def dimensions(rank: int) -> str:
    return format_count(rank, "dimension")


def map_at(depth: int, function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to each array that is nested at this depth."""
    if depth == 0:
        return function(value)
    if depth == 1:
        return patterns.map(function, value)
    return patterns.map(lambda row: map_at(depth - 1, function, row), value)
