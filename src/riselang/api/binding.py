"""Infer sizes from the shapes of the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import ArrayType, IdxType, RiseType, ScalarType, index
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import Nat
from riselang.runtime.arrays import Array, check_dtype, exact_scalar
from riselang.runtime.shapes import SizeBinding
from riselang.support.counts import format_count
from riselang.support.errors import UserError


def scalar_array(argument: Any, type: ScalarType, name: str) -> Array:
    exact = exact_scalar(argument, numpy_dtype(type))
    if exact is None:
        raise UserError(
            f"argument {name}: expected a scalar of type {format_type(type)}, "
            f"but found {argument!r}"
        )
    return exact


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
        check_dtype(array, element, name)
        if array.ndim != len(lengths):
            raise UserError(
                f"argument {name}: expected {format_count(len(lengths), 'dimension')} "
                f"({format_type(type)}), "
                f"but found shape {array.shape}"
            )
        binding.bind(lengths, array.shape, name)
    return binding.finish()


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
