"""Values for all iterations of the maps around an expression, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.onnx.primitives.elementwise import wrap_index
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import gather_nd, take
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim, expand_dims, transpose

Data = Any
"""A `Batch`, a pair of data, or a Python function from data to data."""


@dataclass(frozen=True, eq=False)
class Batch:
    """A value that differs between the iterations of some of the enclosing maps."""

    value: Value
    """Its first dimensions are those of the maps; the others are its own."""
    axes: tuple[int, ...] = ()
    """The maps, numbered from the outermost, ascending."""

    @property
    def own(self) -> tuple[int, ...]:
        """The lengths of the dimensions of the value itself."""
        return self.value.shape[len(self.axes) :]

    @property
    def first(self) -> int:
        """The position of its first own dimension."""
        return len(self.axes)


def each(data: Data, function: Callable[[Batch], Data]) -> Data:
    """Apply a function to the leaves of data."""
    if isinstance(data, tuple):
        first, second = parts_of(data)
        return each(first, function), each(second, function)
    return function(data)


def parts_of(pair: Data) -> tuple[Data, Data]:
    return pair


def leaves(data: Data) -> list[Batch]:
    found: list[Batch] = []
    each(data, found.append)
    return found


def rebuilt(data: Data, new: Sequence[Any]) -> Data:
    """Return data of the same structure with other leaves."""
    rest = iter(new)
    return each(data, lambda _: next(rest))


def own_part(batch: Batch, function: Callable[[Value, int], Value]) -> Batch:
    """Apply a function of a tensor and the position of the first own dimension."""
    return Batch(function(batch.value, batch.first), batch.axes)


def lifted(batch: Batch, axes: Sequence[int], lengths: Sequence[int]) -> Value:
    """Return the tensor with a dimension for each of some maps, which include its own."""
    axes = tuple(axes)
    if batch.axes == axes:
        return batch.value
    rank = len(axes)
    places = [axes.index(axis) for axis in batch.axes]
    places += [rank + k for k in range(len(batch.own))]
    shape = (*(lengths[axis] for axis in axes), *batch.own)
    return broadcast_in_dim(batch.value, shape, places)


def aligned(
    batches: Sequence[Batch], lengths: Sequence[int]
) -> tuple[list[Value], tuple[int, ...]]:
    """Return tensors with the same maps, and these maps."""
    axes = tuple(sorted({axis for each in batches for axis in each.axes}))
    return [lifted(each, axes, lengths) for each in batches], axes


def sorted_axes(value: Value, axes: Sequence[int]) -> Batch:
    """Return a tensor whose first dimensions are these maps, in ascending order."""
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    rest = range(len(axes), value.rank)
    return Batch(transpose(value, (*order, *rest)), tuple(sorted(axes)))


def taken(xs: Batch, indices: Batch, lengths: Sequence[int]) -> Batch:
    """Return the elements of an array at indices, whose own dimensions replace its first one."""
    if not xs.own[0]:
        # Nothing runs that reads an array without elements.
        shape = (*(lengths[axis] for axis in indices.axes), *indices.own, *xs.own[1:])
        return Batch(xs.value.graph.full(0, shape, xs.value.element), indices.axes)
    if not set(xs.axes) & set(indices.axes):
        found = take(xs.value, indices.value, xs.first)
        return sorted_axes(found, (*xs.axes, *indices.axes))
    (array, places), axes = aligned([xs, indices], lengths)
    vectors = expand_dims(wrap_index(places, array.shape[len(axes)]), [places.rank])
    return Batch(gather_nd(array, vectors, len(axes)), axes)
