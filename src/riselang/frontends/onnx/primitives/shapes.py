"""Functions that rearrange elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from riselang.frontends.onnx.primitives.graph import Graph, Value
from riselang.support.errors import LimitationError

MAX_FOLDED_BROADCAST = 1 << 12
"""The number of elements up to which known tensors grow during import."""


def reshape(x: Value, shape: Sequence[int]) -> Value:
    shape = tuple(shape)
    if x.shape == shape:
        return x
    if prod(shape) != x.size or any(length < 0 for length in shape):
        raise LimitationError(f"a tensor of shape {x.shape} cannot become one of shape {shape}")
    if x.array is not None:
        return Value(x.graph, shape, x.element, x.array.reshape(shape), small_type=x.small_type)
    return x.graph.emit_one("reshape", [x], (shape, x.element))


def transpose(x: Value, order: Sequence[int]) -> Value:
    if sorted(order) != list(range(x.rank)):
        raise LimitationError(f"{list(order)} is not a permutation of {x.rank} dimensions")
    if list(order) == list(range(x.rank)):
        return x
    shape = tuple(x.shape[k] for k in order)
    if x.array is not None:
        array = np.ascontiguousarray(x.array.transpose(order))
        return Value(x.graph, shape, x.element, array)
    return x.graph.emit_one("transpose", [x], (shape, x.element), permutation=tuple(order))


def swap_axes(x: Value, first: int, second: int) -> Value:
    order = list(range(x.rank))
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


def move_axis(x: Value, source: int, target: int) -> Value:
    order = [k for k in range(x.rank) if k != source]
    order.insert(target, source)
    return transpose(x, order)


def broadcast_in_dim(x: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
    """Broadcast; the dimensions of the operand become `dimensions`."""
    shape, dimensions = tuple(shape), tuple(dimensions)
    fits = len(dimensions) == x.rank and all(
        x.shape[k] in (1, shape[dimension]) for k, dimension in enumerate(dimensions)
    )
    if not fits:
        raise LimitationError(f"a tensor of shape {x.shape} cannot be broadcast to {shape}")
    if x.shape == shape and list(dimensions) == list(range(x.rank)):
        return x
    if x.array is not None and (prod(shape) <= MAX_FOLDED_BROADCAST or x.size == prod(shape)):
        ones = [1] * len(shape)
        for k, dimension in enumerate(dimensions):
            ones[dimension] = x.shape[k]
        array = np.broadcast_to(x.array.reshape(ones), shape)
        return Value(x.graph, shape, x.element, array)
    return x.graph.emit_one(
        "broadcast_in_dim", [x], (shape, x.element), broadcast_dimensions=tuple(dimensions)
    )


def broadcast_to(x: Value, shape: Sequence[int]) -> Value:
    """Broadcast as in NumPy."""
    new = len(shape) - x.rank
    return broadcast_in_dim(x, shape, range(new, len(shape)))


def expand_dims(x: Value, axes: Sequence[int]) -> Value:
    """Insert dimensions of length 1 at these positions of the result."""
    rank = x.rank + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        raise LimitationError(f"the axes {list(axes)} are not different ones of {rank} dimensions")
    rest = iter(x.shape)
    return reshape(x, [1 if k in places else next(rest) for k in range(rank)])


def slice_(
    x: Value, starts: Sequence[int], ends: Sequence[int], strides: Sequence[int] | None = None
) -> Value:
    """Return elements from `starts` to `ends`; all are nonnegative, and strides positive."""
    strides = list(strides or [1] * x.rank)
    if not any(starts) and tuple(ends) == x.shape and all(each == 1 for each in strides):
        return x
    if x.array is not None:
        parts = tuple(map(slice, starts, ends, strides))
        return x.graph.constant(x.array[parts], x.element)
    shape = tuple(
        max(0, -(-(end - start) // stride))
        for start, end, stride in zip(starts, ends, strides, strict=True)
    )
    return x.graph.emit_one(
        "slice", [x], (shape, x.element), start_indices=tuple(starts), limit_indices=tuple(ends),
        strides=tuple(strides),
    )  # fmt: skip


def slice_axis(x: Value, axis: int, start: int, end: int, stride: int = 1) -> Value:
    """Slice one dimension."""
    starts, ends, strides = [0] * x.rank, list(x.shape), [1] * x.rank
    starts[axis], ends[axis], strides[axis] = start, end, stride
    return slice_(x, starts, ends, strides)


def index_axis(x: Value, axis: int, position: int) -> Value:
    """Return the part at one index of a dimension, which is dropped."""
    part = slice_axis(x, axis, position, position + 1)
    return reshape(part, [*x.shape[:axis], *x.shape[axis + 1 :]])


def reverse(x: Value, axes: Sequence[int]) -> Value:
    if not axes:
        return x
    if x.array is not None:
        return x.graph.constant(np.flip(x.array, tuple(axes)), x.element)
    return x.graph.emit_one("reverse", [x], (x.shape, x.element), dimensions=tuple(axes))


def concatenate(parts: Sequence[Value], axis: int) -> Value:
    if not parts:
        raise LimitationError("there is nothing to concatenate")
    if len(parts) == 1:
        return parts[0]
    graph, element = parts[0].graph, parts[0].element
    shape = list(parts[0].shape)
    for each in parts[1:]:
        others = [length for k, length in enumerate(each.shape) if k != axis]
        fits = others == [length for k, length in enumerate(shape) if k != axis]
        if not fits or each.element != element:
            raise LimitationError(
                f"tensors {element}{parts[0].shape} and {each.element}{each.shape} cannot be "
                f"concatenated along the axis {axis}"
            )
    arrays = [each.array for each in parts if each.array is not None]
    if len(arrays) == len(parts):
        return graph.constant(np.concatenate(arrays, axis), element)
    shape[axis] = sum(each.shape[axis] for each in parts)
    return graph.emit_one("concatenate", parts, (tuple(shape), element), dimension=axis)


def stack(parts: Sequence[Value], axis: int) -> Value:
    return concatenate([expand_dims(each, [axis]) for each in parts], axis)


def pad(
    x: Value,
    value: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> Value:
    """Pad with a scalar; negative padding removes elements."""
    interior = list(interior or [0] * x.rank)
    if not any((*low, *high, *interior)):
        return x
    shape = tuple(
        max(0, length + before + after + max(length - 1, 0) * between)
        for length, before, after, between in zip(x.shape, low, high, interior, strict=True)
    )
    if x.array is not None and value.array is not None and not any(interior):
        kept = tuple(
            slice(max(0, -a), n - max(0, -b)) for n, a, b in zip(x.shape, low, high, strict=True)
        )
        widths = [(max(0, a), max(0, b)) for a, b in zip(low, high, strict=True)]
        padded = np.pad(x.array[kept], widths, constant_values=value.array.item())
        return x.graph.constant(padded, x.element)
    return x.graph.emit_one(
        "pad", [x, value], (shape, x.element), edge_padding_low=tuple(low),
        edge_padding_high=tuple(high), interior_padding=tuple(interior),
    )  # fmt: skip


def iota(graph: Graph, shape: Sequence[int], axis: int, element: str = "i64") -> Value:
    """Return the index along a dimension."""
    shape = tuple(shape)
    if 0 in shape:
        return graph.full(0, shape, element)
    if prod(shape) <= MAX_FOLDED_BROADCAST:
        ones = [1] * len(shape)
        ones[axis] = shape[axis]
        counted = np.arange(shape[axis]).reshape(ones)
        return graph.constant(np.broadcast_to(counted, shape), element)
    return graph.emit_one("iota", [], (shape, element), iota_dimension=axis)
