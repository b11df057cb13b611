"""Masks as keys: arrays of Booleans that select elements.

The number of elements that a mask of the program selects is not known, so `x[mask]` does not exist;
`x.at[mask].set(y)` is `where(mask, y, x)`. A mask that is known when the function is traced, such
as a NumPy array, becomes the positions of its elements that are true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from riselang.dialects.rise.types import i1
from riselang.dsl.arrays.broadcasting import check_equal_types
from riselang.dsl.arrays.layout import reshape_to
from riselang.dsl.arrays.shapes import (
    Shape,
    dimensions,
    element_type,
    format_shape,
    rank_of,
    shape_of,
)
from riselang.dsl.arrays.slices import is_full
from riselang.dsl.captures import as_regular_array, is_number_list
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import ScalarFunction, scalar_function
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, capture_arrays
from riselang.nat import Nat

ADD, MULT, MAX, MIN = (scalar_function(name) for name in ("add", "mult", "max", "min"))


def is_mask(key: Any) -> bool:
    """Whether a key is a Boolean of the program, or an array of Booleans."""
    return isinstance(key, Value) and element_type(key) == i1


def as_constant_mask(key: Any) -> np.ndarray[Any, Any] | None:
    """Return a mask that is known while the function is traced; None if the key is none."""
    if not isinstance(key, list | np.ndarray):
        return None
    if isinstance(key, list) and not is_number_list(key):
        return None
    mask = as_regular_array(key, "an index")
    return mask if mask.dtype == bool and mask.ndim else None


def expand_constant_masks(keys: Sequence[Any], shape: Shape) -> list[Any]:
    """Replace each mask that is known with the positions of its elements that are true."""
    result: list[Any] = []
    for key in keys:
        mask = as_constant_mask(key)
        if mask is None:
            result.append(key)
            continue
        if all(each is not ... and each is not None for each in result):
            _check_shape(mask.shape, shape[len(result) : len(result) + mask.ndim])
        if mask.any():
            result += np.nonzero(mask)
        else:
            result += [slice(0, 0), *[0] * (mask.ndim - 1)]
    return result


def _check_shape(mask: Sequence[Any], shape: Sequence[Nat]) -> None:
    lengths = tuple(Nat.const(each) if isinstance(each, int) else each for each in mask)
    if lengths != tuple(shape):
        refuse(
            f"a mask has the shape of the axes that it selects from, but its shape is "
            f"{format_shape(lengths)}, and that of the axes is {format_shape(tuple(shape))}"
        )


def refuse_mask() -> NoReturn:
    refuse(
        "the length of x[mask] would depend on the elements of the mask, but lengths are part of "
        "types; rl.compress(mask, x) returns the selected elements with their number, "
        "rl.filter(f, x) those for which a function returns true, and rl.where(mask, x, y) and "
        "x.at[mask].set(y) keep the shape of x"
    )


class MaskedPart:
    """`x.at[mask]`: the elements where a mask is true; the methods change them.

    A method takes one value for all of them: its number is not known.
    """

    def __init__(self, x: Value, keys: Sequence[Any]):
        self._array = x
        self._mask, self._trailing = _align_mask(x, keys)

    def get(self) -> NoReturn:
        refuse_mask()

    def set(self, value: Any) -> Value:
        """Replace the elements by a value."""
        return select(self._mask, self._fit(value), self._array)

    def add(self, value: Any) -> Value:
        """Add a value to the elements."""
        return self._combine(ADD, value)

    def multiply(self, value: Any) -> Value:
        """Multiply the elements by a value."""
        return self._combine(MULT, value)

    def max(self, value: Any) -> Value:
        """Replace each element by the maximum of it and a value."""
        return self._combine(MAX, value)

    def min(self, value: Any) -> Value:
        """Replace each element by the minimum of it and a value."""
        return self._combine(MIN, value)

    def _combine(self, function: ScalarFunction, value: Any) -> Value:
        return select(self._mask, function(self._array, self._fit(value)), self._array)

    def _fit(self, value: Any) -> Value:
        """Return a value that is the same at all positions of the mask."""
        (captured,) = capture_arrays((value,))
        if not isinstance(captured, Value):
            captured = Value(as_node(captured, element_type(self._array)))
        check_equal_types("at", (self._array, captured))
        if rank_of(captured) > self._trailing:
            refuse(
                "x.at[mask].set(y) takes one value y for all elements that the mask selects, whose "
                f"number is not known, but the shape of y is {format_shape(shape_of(captured))}; "
                "rl.where(mask, y, x) takes a value for each position"
            )
        return captured


def _align_mask(x: Value, keys: Sequence[Any]) -> tuple[Value, int]:
    """Return the mask with an axis of length 1 for each axis after its own, and their number."""
    positions = [number for number, key in enumerate(keys) if is_mask(key)]
    if len(positions) > 1 or not all(is_full(key) or is_mask(key) for key in keys):
        refuse(
            "a mask can be combined only with ':' and '...' in a key; use "
            "rl.where(mask, y, x) with masks of all axes, combined by &"
        )
    position = positions[0]
    mask = keys[position]
    rank, shape = rank_of(mask), shape_of(x)
    if position + rank > len(shape):
        refuse(f"a mask with {dimensions(rank)} is too large for the array, which has "
               f"{dimensions(len(shape))}")  # fmt: skip
    _check_shape(shape_of(mask), shape[position : position + rank])
    trailing = len(shape) - position - rank
    if rank == 0:
        return mask, trailing
    return reshape_to(mask, (*shape_of(mask), *[Nat.const(1)] * trailing)), trailing
