"""Infer sizes from the shapes of the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    index,
)
from riselang.dsl.captures import (
    as_regular_array,
    exact_array,
    innermost,
    is_number_list,
    nest,
)
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.runtime.arrays import Array, check_dtype, exact_scalar
from riselang.runtime.shapes import SizeBinding
from riselang.support.counts import format_count
from riselang.support.element_types import dtype_named
from riselang.support.errors import UserError


def scalar_array(argument: Any, type: ScalarType | IdxType, name: str) -> Array:
    element = SCALAR_NAMES[type if isinstance(type, ScalarType) else index]
    exact = exact_scalar(argument, dtype_named(element))
    if exact is None:
        raise UserError(
            f"argument {name}: expected a scalar of type {format_type(type)}, "
            f"but found {argument!r}"
        )
    return exact


def list_array(argument: list[Any], type: RiseType, name: str) -> Array:
    """Convert a list of numbers to the type of a parameter."""
    element = innermost(type)
    element = index if isinstance(element, IdxType) else element
    if not is_number_list(argument):
        raise UserError(
            f"argument {name}: expected {format_type(type)}, but found a list whose items are not "
            "numbers; use numpy.asarray"
        )
    converted = exact_array(as_regular_array(argument, f"argument {name}"), element)
    if converted is None:
        raise UserError(
            f"argument {name}: expected numbers of type {format_type(element)}, but found "
            f"{argument!r}"
        )
    return converted


def lengths(type: RiseType) -> list[Nat]:
    """Return the lengths of nested arrays."""
    return _shape_and_element(type)[0]


def rank(type: RiseType) -> int:
    """Return the number of dimensions of a type."""
    return len(lengths(type))


def bind_sizes(
    types: Sequence[RiseType], names: Sequence[str], arrays: Sequence[Array]
) -> Mapping[str, Nat]:
    """Return the sizes that the array shapes determine; bindings of one size must agree."""
    binding = SizeBinding()
    for type, name, array in zip(types, names, arrays, strict=True):
        lengths, element = _shape_and_element(type)
        if isinstance(element, IdxType):
            element = index
        if not isinstance(element, ScalarType):
            raise UserError(f"argument {name}: an array of {format_type(element)} cannot be passed")
        check_dtype(array, SCALAR_NAMES[element], name)
        if array.ndim != len(lengths):
            raise UserError(
                f"argument {name}: expected {format_count(len(lengths), 'dimension')} "
                f"({format_type(type)}), "
                f"but found shape {array.shape}"
            )
        binding.bind(lengths, array.shape, name)
    return binding.finish()


def requested_types(
    types: Sequence[RiseType],
    names: Sequence[str],
    arguments: Sequence[Any],
    convert: Callable[[str, RiseType, Any], Array],
) -> list[RiseType]:
    """Return the types of arguments, which are types or arrays; `types` are those expected."""
    results: list[RiseType] = []
    for expected, name, argument in zip(types, names, arguments, strict=True):
        if isinstance(argument, ScalarType):
            type: RiseType = argument
        elif isinstance(argument, ArraySpec):
            type = argument.type
        else:
            type = nest(convert(name, expected, argument).shape, innermost(expected))
        if rank(type) != rank(expected) or innermost(type) != innermost(expected):
            raise UserError(
                f"argument {name}: expected {format_type(expected)}, but found {format_type(type)}",
                user_location(),
            )
        results.append(type)
    return results


def sizes_from_types(
    symbolic_types: Sequence[RiseType], concrete_types: Sequence[RiseType], names: Sequence[str]
) -> Mapping[str, Nat]:
    """Return the values that `given`, which are the types `open` at some sizes, determine."""
    binding = SizeBinding()
    for left, right, name in zip(symbolic_types, concrete_types, names, strict=True):
        lengths, _ = _shape_and_element(left)
        for length, actual in zip(lengths, _shape_and_element(right)[0], strict=True):
            if actual.is_constant:
                binding.bind([length], [actual.constant], name)
    return binding.finish()


def _shape_and_element(type: RiseType) -> tuple[list[Nat], RiseType]:
    """Return the lengths of nested arrays, and the element type of the innermost."""
    lengths: list[Nat] = []
    while isinstance(type, ArrayType):
        lengths.append(type.length)
        type = type.element
    return lengths, type
