"""Arrays in a different layout: permuted axes, reshapes, new axes, and joined arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import map_zipped, promote_arrays
from riselang.dsl.arrays.shapes import (
    Shape,
    as_array,
    format_shape,
    is_array,
    map_at,
    normalize_axes,
    normalize_axis,
    product,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, capture_arrays
from riselang.dsl.tracing import type_text, value_text
from riselang.nat import Nat
from riselang.nat.division import exact_quotient


def permute_axes(x: Value, axes: Sequence[int]) -> Value:
    """Return the array whose axis number i is the axis `axes[i]` of `x`, by swaps of neighbors."""
    current = list(range(len(axes)))
    for target, axis in enumerate(axes):
        for position in range(current.index(axis), target, -1):
            x = map_at(position - 1, patterns.transpose, x)
            current[position - 1], current[position] = current[position], current[position - 1]
    return x


def transpose(x: Any, axes: Any = None) -> Value:
    """Return an array with its axes reversed, or in this order."""
    rank = rank_of(x)
    if axes is None:
        return permute_axes(x, tuple(reversed(range(rank))))
    order = normalize_axes("transpose", axes, rank)
    if len(order) != rank:
        refuse(
            f"transpose: expected {rank} axes, one for each dimension, but found {value_text(axes)}"
        )
    return permute_axes(x, order)


def move_axis(x: Value, source: int, destination: int) -> Value:
    axes = [axis for axis in range(rank_of(x)) if axis != source]
    axes.insert(destination, source)
    return permute_axes(x, axes)


def add_axis(x: Any) -> Value:
    """Return the array of length 1 whose only element is `x`."""
    if is_array(x) and x.type.length != 0:
        return patterns.split(x.type.length, x)
    return patterns.generate(lambda _: x, n=1)


def expand_dims(x: Any, axis: Any) -> Value:
    """Return an array with a new axis of length 1 at each of these positions."""
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    positions = normalize_axes("expand_dims", axis, rank_of(x) + len(axes))
    for position in sorted(positions):
        x = map_at(position - 1, patterns.split(1), x) if position else add_axis(x)
    return x


def squeeze(x: Any, axis: Any = None) -> Value:
    """Return an array without these axes, whose lengths are 1; by default, all such axes."""
    shape = shape_of(x)
    ones = tuple(number for number, length in enumerate(shape) if length == 1)
    axes = ones if axis is None else normalize_axes("squeeze", axis, len(shape))
    for position in sorted(axes, reverse=True):
        if shape[position] != 1:
            refuse(f"squeeze: axis {position} has length {shape[position]}, not 1")
        x = map_at(position - 1, patterns.join, x) if position else x[0]
    return x


def reshape(x: Any, *sizes: Any) -> Value:
    """Return the elements in the same order in another shape; -1 is the size that remains."""
    requested = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    if not isinstance(x, Value):
        refuse(f"reshape: expected an array, but found {value_text(x)}")
    source = shape_of(x)
    return reshape_to(x, _complete_shape(requested, source))


def _complete_shape(requested: Sequence[Any], source: Shape) -> Shape:
    """Replace -1 in a shape by the size that the other sizes leave."""
    total = product(source)
    sizes = [None if _is_open(size) else as_size(size, "reshape") for size in requested]
    known = product(size for size in sizes if size is not None)
    problem = f"reshape: {format_shape(source)} cannot be reshaped to {tuple(requested)!r}"
    if sizes.count(None) > 1:
        refuse(f"{problem}: at most one size can be -1")
    if None in sizes:
        remaining = exact_quotient(total, known) if known != 0 else None
        if remaining is None:
            refuse(f"{problem}: {total} elements cannot be divided into groups of {known}")
        return tuple(remaining if size is None else size for size in sizes)
    if known != total:
        refuse(f"{problem}: the numbers of elements {total} and {known} differ")
    return tuple(size for size in sizes if size is not None)


def _is_open(size: Any) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size == -1


def reshape_to(x: Value, target: Shape) -> Value:
    """Reshape an array; the axes at the front and at the back that do not change stay as is."""
    source = shape_of(x)
    front = 0
    while front < min(len(source), len(target)) and source[front] == target[front]:
        front += 1
    old, new = source[front:], target[front:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    if not old and not new:
        return x
    if front and not (old and new):
        front, old, new = front - 1, (source[front - 1], *old), (target[front - 1], *new)
    if product(source) == 0:
        return _reshape_empty(x, target)
    return map_at(front, lambda part: _split_axes(_join_axes(part, len(old)), new), x)


def _reshape_empty(x: Value, target: Shape) -> Value:
    """Reshape an array without elements: its result is not split, because the sizes may be 0."""
    flat = _join_axes(x, rank_of(x))

    def rows(shape: Shape) -> Any:
        if not shape:
            return patterns.at(patterns.clamp_idx(1, 0), flat | patterns.pad_const(1, 0, 0))
        return patterns.generate(lambda _: rows(shape[1:]), n=shape[0])

    return rows(target)


def _join_axes(x: Value, count: int) -> Value:
    """Flatten the outermost axes; a scalar becomes an array of length 1."""
    if count == 0:
        return add_axis(x)
    for _ in range(count - 1):
        x = patterns.join(x)
    return x


def _split_axes(x: Value, lengths: Shape) -> Value:
    """Split the outermost axis into axes of these lengths; none is left of a length of 1."""
    if not lengths:
        return x[0]
    for length in reversed(lengths[1:]):
        x = patterns.split(length, x)
    return x


def flatten(x: Value) -> Value:
    """Return all elements as an array of one dimension."""
    return reshape_to(x, (product(shape_of(x)),))


def flatten_last(x: Value, count: int) -> Value:
    """Replace the last axes by one."""
    if count == 1:
        return x
    return map_at(rank_of(x) - count, lambda part: _join_axes(part, count), x)


def as_sequence(name: str, arrays: Any) -> list[Value]:
    """Return the arrays to be joined, which users pass as one tuple or list."""
    if not isinstance(arrays, tuple | list) or not arrays:
        refuse(f"{name}: expected a tuple or list of arrays, but found {value_text(arrays)}")
    return promote_arrays(capture_arrays(arrays))


def stack(arrays: Any, axis: int = 0) -> Value:
    """Return the array of these arrays, or scalars; `axis` is the position of the new axis."""
    parts = as_sequence("stack", arrays)
    rank = rank_of(parts[0])
    for part in parts[1:]:
        if shape_of(part) != shape_of(parts[0]):
            refuse(
                "stack: the arrays must have one shape, but found "
                f"{format_shape(shape_of(parts[0]))} and {format_shape(shape_of(part))}"
            )
    position = normalize_axis("stack", axis, rank + 1)
    result = concatenate_first([add_axis(part) for part in parts])
    return move_axis(result, 0, position)


def concatenate(arrays: Any, axis: int | None = 0) -> Value:
    """Return the elements of several arrays one after the other along an axis."""
    parts = as_sequence("concatenate", arrays)
    if axis is None:
        return concatenate_first([flatten(part) for part in parts])
    parts = [as_array("concatenate", part) for part in parts]
    rank = rank_of(parts[0])
    position = normalize_axis("concatenate", axis, rank)
    for part in parts[1:]:
        _check_joinable(parts[0], part, position)
    return _concatenate_at(position, parts)


def _check_joinable(first: Value, second: Value, axis: int) -> None:
    shapes = [list(shape_of(each)) for each in (first, second)]
    if len(shapes[0]) != len(shapes[1]):
        refuse(
            f"concatenate: the arrays must have equally many dimensions, but found "
            f"{type_text(first.type)} and {type_text(second.type)}"
        )
    for shape in shapes:
        shape[axis] = Nat.const(0)
    if shapes[0] != shapes[1]:
        refuse(
            f"concatenate: only axis {axis} may have different lengths, but found "
            f"{type_text(first.type)} and {type_text(second.type)}"
        )


def _concatenate_at(axis: int, parts: Sequence[Value]) -> Value:
    if axis == 0:
        return concatenate_first(parts)
    return map_zipped(lambda *rows: _concatenate_at(axis - 1, rows), parts)


def concatenate_first(parts: Sequence[Value]) -> Value:
    first, *remaining = parts
    for part in remaining:
        first = patterns.concat(first, part)
    return first


def roll(x: Any, shift: Any, axis: Any = None) -> Value:
    """Shift elements along axes; those that leave an end return at the other end."""
    x = as_array("roll", x, 0)
    if axis is None:
        return reshape_to(_roll_first(shift, flatten(x)), shape_of(x))
    axes = normalize_axes("roll", axis, rank_of(x))
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        refuse(f"roll: {len(shifts)} shifts do not match {len(axes)} axes; pass one for each")
    for position, distance in zip(axes, shifts, strict=True):
        x = map_at(position, partial(_roll_first, distance), x)
    return x


def _roll_first(shift: Any, x: Value) -> Value:
    length: Nat = x.type.length  # type: ignore[attr-defined]
    if not isinstance(shift, int):
        refuse(f"roll: a shift is an integer, but found {value_text(shift)}")
    distance = shift % length.constant if length.is_constant and length != 0 else shift
    if distance == 0 or length == 0:
        return x
    return patterns.concat(x[-distance:], x[:-distance])


def flip(x: Any, axis: Any = None) -> Value:
    """Reverse an array along these axes; by default, along all of them."""
    for position in normalize_axes("flip", axis, rank_of(x)):
        x = map_at(position, patterns.reverse, x)
    return x
