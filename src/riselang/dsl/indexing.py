"""`x[...]`: components of pairs, and elements, slices and gathered elements of arrays.

A key is a number, an index, a slice, an array of indices or integers, a list of integers, None (a
new axis), `...`, or a tuple of these, with NumPy's meaning. An integer that is computed is checked
at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    ScalarType,
    TupleType,
    TypeVariable,
    i1,
    i32,
    i64,
)
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import map_elements
from riselang.dsl.arrays.layout import add_axis
from riselang.dsl.arrays.masks import expand_constant_masks, is_mask, refuse_mask
from riselang.dsl.arrays.shapes import (
    dimensions,
    element_type,
    is_array,
    length_value,
    literal_of,
    rank_of,
    shape_of,
)
from riselang.dsl.arrays.slices import FULL, is_full, resolve_slice, take_slice
from riselang.dsl.conditionals import branch_condition
from riselang.dsl.diagnostics import refuse
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, convert, is_integer, project
from riselang.dsl.tracing import current_trace, type_text, value_text
from riselang.nat import Nat

MAX_ELEMENTS = 1000
"""The length of the longest array that Python's loops iterate over."""


def subscript(value: Value, key: Any) -> Value:
    """Return a component of a pair, or the part of an array that a key selects."""
    type = value.type
    if isinstance(type, TupleType):
        return _component(value, key)
    keys = key if isinstance(key, tuple) else (key,)
    if not isinstance(type, ArrayType) and not all(each is None or each is ... for each in keys):
        refuse(f"only arrays and pairs are indexed, but this is {type_text(type)}")
    axes, inner = expand_keys(value, keys)
    result = select_part(value, axes)
    return subscript(result, inner) if inner else result


def array_elements(value: Value) -> list[Value]:
    """Return the elements of an array for Python's loops, which repeat their code for each."""
    type = value.type
    if not isinstance(type, ArrayType):
        refuse(f"only tuples and arrays are iterated over, but this is {type_text(type)}")
    advice = "use rl.map, rl.reduce or rl.scan to work on its elements"
    if not type.length.is_constant:
        refuse(f"the length of {type_text(type)} is not known while it is traced; {advice}")
    if type.length.constant > MAX_ELEMENTS:
        refuse(
            f"Python's loops repeat their code for each element, and this array has "
            f"{type.length.constant} of them; {advice}"
        )
    return [subscript(value, position) for position in range(type.length.constant)]


def _component(value: Value, key: Any) -> Value:
    first, *remaining = key if isinstance(key, tuple) else (key,)
    if not isinstance(first, int) or first not in (0, 1):
        is_longer = isinstance(value.type, TupleType) and isinstance(value.type.second, TupleType)
        hint = "; a, b, c = t assigns the components of a tuple of three" if is_longer else ""
        refuse(f"a pair is indexed by 0 or 1, but found {value_text(first)}{hint}")
    result = project(value, first)
    return subscript(result, tuple(remaining)) if remaining else result


def expand_keys(value: Value, keys: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the keys of all axes, without `...`, and those of the components of pairs."""
    rank = rank_of(value)
    keys = [_as_key(key) for key in expand_constant_masks(keys, shape_of(value))]
    ellipses = [number for number, key in enumerate(keys) if key is ...]
    if len(ellipses) > 1:
        refuse("a key can contain '...' only once")
    count = sum(_axis_count(key) for key in keys)
    inner: tuple[Any, ...] = ()
    if count > rank and isinstance(element_type(value), TupleType) and not ellipses:
        inner = tuple(keys[len(keys) - (count - rank) :])
        keys, count = keys[: len(keys) - len(inner)], rank
    if count > rank:
        refuse(f"{count} keys are too many for {type_text(value.type)}, which has "
               f"{dimensions(rank)}")  # fmt: skip
    missing: list[Any] = [FULL] * (rank - count)
    if not ellipses:
        return [*keys, *missing], inner
    (position,) = ellipses
    return [*keys[:position], *missing, *keys[position + 1 :]], inner


def _axis_count(key: Any) -> int:
    """Return the number of axes of the array that a key selects from."""
    return rank_of(key) if is_mask(key) else int(key is not None and key is not ...)


def _as_key(key: Any) -> Any:
    """Return a list or NumPy array of integers as a captured array."""
    try:
        numbers = np.asarray(key) if isinstance(key, list | np.ndarray) else None
    except ValueError:
        refuse(f"the lists in {value_text(key)} have different lengths, but must have the same")
    if numbers is None or numbers.ndim == 0 or numbers.dtype.kind not in "iu" or not numbers.size:
        return key
    return Value(as_node(numbers.astype(np.int64)))


def select_part(x: Value, keys: Sequence[Any]) -> Value:
    """Return the part of an array that the keys of its axes select."""
    if any(is_mask(key) for key in keys):
        refuse_mask()
    check_index_arrays(keys)
    return _select_part(x, list(keys))


def _select_part(x: Any, keys: list[Any]) -> Any:
    if all(is_full(key) for key in keys):
        return x
    key, *remaining = keys
    if key is None:
        return add_axis(_select_part(x, remaining))
    if isinstance(key, slice):
        rows = take_slice(x, resolve_slice(key, x.type.length))
        if all(is_full(each) for each in remaining):
            return rows
        return patterns.map(lambda row: _select_part(row, remaining), rows)
    if is_array(key):
        return _gather(x, keys)
    return _select_part(patterns.at(as_index(key, x.type), x), remaining)


def check_index_arrays(keys: Sequence[Any]) -> None:
    """Reject arrays of indices between which there is a slice: where do their axes go?"""
    positions = [number for number, key in enumerate(keys) if is_array(key)]
    between = keys[positions[0] : positions[-1]] if positions else ()
    has_element = any(not isinstance(key, slice) and key is not None for key in keys)
    if any(isinstance(key, slice) or key is None for key in between) or (
        positions and has_element and _has_detached_element(keys, positions)
    ):
        refuse(
            "arrays of indices must be next to each other in a key; select with the other keys "
            "first, as in x[:, 1:3][i]"
        )


def _has_detached_element(keys: Sequence[Any], positions: Sequence[int]) -> bool:
    """Whether a slice is between an element's key and the arrays of indices."""
    elements = [
        number for number, key in enumerate(keys) if not isinstance(key, slice) and key is not None
    ]
    low, high = min(*elements, *positions), max(*elements, *positions)
    return any(isinstance(key, slice) or key is None for key in keys[low:high])


def _gather(x: Value, keys: list[Any]) -> Value:
    """Select with arrays of indices for the first axes, which are broadcast to one shape."""
    count = next(
        (number for number, key in enumerate(keys) if isinstance(key, slice) or key is None),
        len(keys),
    )
    remaining = keys[count:]
    lengths = shape_of(x)[:count]
    indices = [
        as_indices(key, length) if is_array(key) else key
        for key, length in zip(keys[:count], lengths, strict=True)
    ]
    if count == 1 and rank_of(indices[0]) == 1 and all(is_full(key) for key in remaining):
        return patterns.gather(indices[0], x)

    def select_element(*positions: Any) -> Any:
        part: Any = x
        for position in positions:
            part = patterns.at(as_index(position, part.type), part)
        return _select_part(part, remaining)

    return map_elements("[]", select_element, indices)


def as_indices(key: Value, length: Nat) -> Value:
    """Return an array of integers as indices that are in range."""
    type = element_type(key)
    if isinstance(type, IdxType):
        return key
    if type == i1:
        refuse("the indices are integers, but found an array of Booleans; use rl.where(mask, x, y)")
    return map_elements("[]", lambda i: _checked_index(i, length), (key,))


def as_index(key: Any, type: Any) -> Value:
    """Return the key of one element as an index."""
    if isinstance(key, Value):
        return key if isinstance(key.type, IdxType) else _checked_index(key, type.length)
    number = _as_integer(key, type)
    length: Nat = type.length
    if not length.is_constant:
        offset = length_value(length, i64) + number if number < 0 else literal_of(number, i64)
        return patterns.clamp_idx(length, offset)
    if not -length.constant <= number < length.constant:
        refuse(f"the index {key} is out of bounds for {type_text(type)}")
    return patterns.clamp_idx(length, literal_of(number % length.constant, i32))


def _as_integer(key: Any, type: Any) -> int:
    try:
        if isinstance(key, bool):
            raise TypeError
        return index(key)
    except TypeError:
        refuse(
            "an array is indexed by numbers, slices and arrays of integers, but found "
            f"{value_text(key)} for {type_text(type)}"
        )


def _checked_index(i: Value, length: Nat) -> Value:
    """Return an integer as an index; a negative one counts from the end."""
    if isinstance(i.type, TypeVariable):
        # A number whose type nothing has determined, such as the first value of a counter.
        current_trace().unify(i.node.type, i64, "the type of an index")
    type = i.type
    if not isinstance(type, ScalarType) or not is_integer(type):
        refuse(f"an array is indexed by an index or an integer, but found {type_text(type)}")
    wide = convert(i, i64)
    if (branch := branch_condition()) is not None:
        wide = select(branch, wide, literal_of(0, i64))
    return patterns.check_idx(length, select(wide < 0, wide + length_value(length, i64), wide))
