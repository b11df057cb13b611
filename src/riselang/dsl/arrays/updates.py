"""`x.at[key].set(y)`: arrays in which the part that a key selects is replaced, as in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riselang.dialects.rise.types import i64
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import broadcast_to, check_equal_types
from riselang.dsl.arrays.layout import add_axis, flatten, reshape_to
from riselang.dsl.arrays.masks import ADD, MAX, MIN, MULT, MaskedPart, is_mask
from riselang.dsl.arrays.shapes import (
    as_array,
    element_type,
    is_array,
    length_value,
    product,
    shape_of,
)
from riselang.dsl.arrays.slices import Range, is_full, position_index, resolve_slice, take_slice
from riselang.dsl.diagnostics import refuse
from riselang.dsl.indexing import as_index, expand_keys, select_part
from riselang.dsl.pattern_functions import ScalarFunction
from riselang.dsl.symbolic_values import Value, as_node
from riselang.nat import Nat


class Updates:
    """`x.at`: the parts of an array that can be replaced."""

    def __init__(self, x: Value):
        self._array = as_array("at", x, 0)

    def __getitem__(self, key: Any) -> Part | MaskedPart:
        keys = key if isinstance(key, tuple) else (key,)
        axes, inner = expand_keys(self._array, keys)
        if inner:
            refuse("x.at[...] replaces elements of an array, not components of its pairs")
        if any(is_mask(each) for each in axes):
            return MaskedPart(self._array, axes)
        return Part(self._array, axes)


class Part:
    """`x.at[key]`: a part of an array; its methods return the array with a new value there."""

    def __init__(self, x: Value, keys: Sequence[Any]):
        self._array = x
        self._keys = keys

    def get(self) -> Value:
        return select_part(self._array, self._keys)

    def set(self, values: Any) -> Value:
        """Replace the part; of several values for one element, the last one wins."""
        if any(is_array(key) for key in self._keys):
            return self._scatter(patterns.scatter, values)
        current = self.get()
        return replace_part(self._array, list(self._keys), self._fit(values, current))

    def add(self, values: Any) -> Value:
        """Add values to the elements of the part."""
        return self._combine(ADD, values)

    def multiply(self, values: Any) -> Value:
        """Multiply the elements of the part by values."""
        return self._combine(MULT, values)

    def max(self, values: Any) -> Value:
        """Replace each element of the part by the maximum of it and a value."""
        return self._combine(MAX, values)

    def min(self, values: Any) -> Value:
        """Replace each element of the part by the minimum of it and a value."""
        return self._combine(MIN, values)

    def _combine(self, function: ScalarFunction, values: Any) -> Value:
        if any(is_array(key) for key in self._keys):
            return self._scatter(patterns.scatter_with(function), values)
        current = self.get()
        combined = function(current, self._fit(values, current))
        return replace_part(self._array, list(self._keys), combined)

    def _fit(self, values: Any, current: Value) -> Value:
        """Return the values in the shape and the type of the part."""
        if not isinstance(values, Value):
            values = Value(as_node(values, element_type(current)))
        check_equal_types("at", (self._array, values))
        return broadcast_to("at", values, shape_of(current))

    def _scatter(self, write: Callable[..., Any], values: Any) -> Value:
        """Write values at the positions that the key selects among those of all elements."""
        shape = shape_of(self._array)
        count = product(shape)
        numbers = reshape_to(patterns.generate(lambda i: i, n=count), shape)
        positions = select_part(numbers, self._keys)
        fitted = self._fit(values, self.get())
        result = write(flatten(positions), flatten(self._array), flatten(fitted))
        return reshape_to(result, shape)


def replace_part(x: Any, keys: list[Any], values: Any) -> Any:
    """Return an array in which the part that the keys select has these values."""
    if all(is_full(key) for key in keys):
        return values
    key, *remaining = keys
    if key is None:
        return replace_part(x, remaining, values[0])
    length: Nat = x.type.length
    if not isinstance(key, slice):
        position = as_index(key, x.type)
        row = replace_part(patterns.at(position, x), remaining, values)
        return patterns.update_at(position, add_axis(row), x)
    positions = resolve_slice(key, length)
    if not all(is_full(each) for each in remaining):
        values = patterns.map(
            lambda row, new: replace_part(row, remaining, new),
            patterns.zip(take_slice(x, positions), values),
        )
    return _write_rows(x, positions, values)


def _write_rows(x: Value, positions: Range, rows: Value) -> Value:
    length: Nat = x.type.length  # pyright: ignore
    if positions == Range(Nat.const(0), length):
        return rows
    if positions.step == 1:
        start = length_value(positions.start, i64)
        return patterns.update_at(patterns.clamp_idx(length - positions.count + 1, start), rows, x)
    indices = patterns.generate(lambda i: position_index(positions, length, i), n=positions.count)
    return patterns.scatter(indices, x, rows)
