"""Sizes from the shapes of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.types import ArrayType, IdxType, RiseType, ScalarType, index, show
from riselang.errors import UserError
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat, Solved, solve
from riselang.runtime.arrays import Array, check_dtype


def scalar_array(argument: Any, type: ScalarType, name: str) -> Array:
    try:
        return np.asarray(argument, dtype=numpy_dtype(type))
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"argument {name}: expected a {show(type)}, found {argument!r}") from None


def bind_sizes(
    types: Sequence[RiseType], names: Sequence[str], arrays: Sequence[Array]
) -> dict[str, Nat]:
    """The sizes that the shapes of the arrays give; a size bound twice must agree."""
    sizes: dict[str, Nat] = {}
    origins: dict[str, str] = {}
    for type, name, array in zip(types, names, arrays, strict=True):
        lengths: list[Nat] = []
        element = type
        while isinstance(element, ArrayType):
            lengths.append(element.length)
            element = element.element
        if isinstance(element, IdxType):
            element = index
        if not isinstance(element, ScalarType):
            raise UserError(f"argument {name}: an array of {show(element)} cannot be passed")
        check_dtype(array, element, name)
        if array.ndim != len(lengths):
            raise UserError(
                f"argument {name}: expected {len(lengths)} dimensions ({show(type)}), "
                f"but found shape {array.shape}"
            )
        for position, (length, found) in enumerate(zip(lengths, array.shape, strict=True)):
            _bind_size(sizes, origins, length, found, f"dimension {position} of {name}")
    return sizes


def _bind_size(
    sizes: dict[str, Nat], origins: dict[str, str], length: Nat, found: int, place: str
) -> None:
    known = length.substitute(sizes)
    answer = solve(known, Nat.const(found), sorted(known.variables))
    if not isinstance(answer, Solved) or (known.is_constant and known.constant != found):
        origin = ", ".join(
            f"{name} = {sizes[name]} from {origins[name]}"
            for name in sorted(length.variables)
            if name in origins
        )
        raise UserError(
            f"{place} is {found}, but expected {length}" + (f" ({origin})" if origin else "")
        )
    for name, size in answer.substitution.items():
        sizes[name] = size
        origins[name] = place


def given_sizes(
    open: Sequence[RiseType], given: Sequence[RiseType], names: Sequence[str]
) -> dict[str, Nat]:
    """What the sizes of `open` are in `given`, the same types at given sizes."""
    sizes: dict[str, Nat] = {}
    origins: dict[str, str] = {}
    for left, right, name in zip(open, given, names, strict=True):
        position = 0
        while isinstance(left, ArrayType) and isinstance(right, ArrayType):
            place = f"dimension {position} of {name}"
            _bind_size(sizes, origins, left.length, right.length.constant, place)
            left, right = left.element, right.element
            position += 1
    return sizes
