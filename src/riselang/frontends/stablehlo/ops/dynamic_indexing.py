"""Ops whose indices are known only at run time: slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.dialects.rise.types import i1, i64, index
from riselang.frontends.building import Builder, length_of
from riselang.frontends.stablehlo.elements import ELEMENTS, Element
from riselang.frontends.stablehlo.ops.data_movement import permuted, reshaped
from riselang.frontends.stablehlo.ops.elementwise import converted
from riselang.frontends.stablehlo.ops.reduction import step_of, unzipped, zipped
from riselang.frontends.stablehlo.registry import Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, node_of, whole, zero
from riselang.term.build import Node

_WIDE = ELEMENTS["i64"]
Starts = Mapping[int, Node]
"""The first index in some of the dimensions."""


def as_wide(builder: Builder, value: Node, element: Element) -> Node:
    """Convert an integer to i64, which holds all but the largest unsigned values."""
    return converted(builder, value, element, _WIDE)


def sliced(
    builder: Builder, node: Node, shape: Sequence[int], sizes: Sequence[int], starts: Starts
) -> Node:
    """Slice an array; the first index in each dimension is clamped so that the slice fits."""
    for depth, (length, size) in enumerate(zip(shape, sizes, strict=True)):
        start = starts.get(depth)
        if size == length or start is None:
            # It starts at 0, since no other start fits or is given.
            if size != length:
                node = builder.map_at(depth, lambda xs, k=size: builder.take(k, xs), node)
            continue
        first = builder.clamp_idx(length - size + 1, start)
        node = builder.map_at(depth, lambda xs, k=size, a=first: builder.slice_at(k, a, xs), node)
    return node


@lowers("stablehlo.dynamic_slice", summary="`sliceAt`, under `map`")
def _dynamic_slice(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    tensor, *indices = operands
    starts = {k: as_wide(builder, each.make(), each.element) for k, each in enumerate(indices)}
    node = node_of(builder, tensor)
    sizes = op.integers("slice_sizes")
    return whole(
        tensor.element, op.result.shape, sliced(builder, node, tensor.shape, sizes, starts)
    )


@lowers("stablehlo.dynamic_update_slice", summary="`updateAt`, in each dimension")
def _dynamic_update_slice(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    tensor, update, *indices = operands
    if update.size == 0:
        return tensor
    if tensor.rank == 0:
        return update
    starts = [
        builder.clamp_idx(length - size + 1, as_wide(builder, each.make(), each.element))
        for length, size, each in zip(tensor.shape, update.shape, indices, strict=True)
    ]

    def replace(depth: int, xs: Node, new: Node) -> Node:
        size, length = update.shape[depth], tensor.shape[depth]
        last = depth == tensor.rank - 1
        if not last:
            old = xs if size == length else builder.slice_at(size, starts[depth], xs)
            new = builder.map(
                lambda pair: replace(depth + 1, *builder.parts(pair, 2)), builder.zip(old, new)
            )
        return new if size == length else builder.update_at(starts[depth], new, xs)

    node = replace(0, node_of(builder, tensor), node_of(builder, update))
    return whole(tensor.element, tensor.shape, node)


def index_vectors(builder: Builder, indices: Tensor, vector_dimension: int) -> Node:
    """Return the indices as i64, with the index vector innermost."""
    node = node_of(builder, indices)
    if vector_dimension == indices.rank:
        return builder.map_at(indices.rank, lambda x: builder.generate(1, lambda _: x), node)
    others = [k for k in range(indices.rank) if k != vector_dimension]
    return permuted(builder, node, [*others, vector_dimension])


def component(builder: Builder, vector: Node, position: int, element: Element) -> Node:
    """Return one component of an index vector."""
    place = builder.clamp_idx(length_of(vector), builder.literal(position, index))
    return as_wide(builder, builder.at(place, vector), element)


@lowers("stablehlo.gather", summary="`at` and `sliceAt`, under a `map` over the indices")
def _gather(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    numbers = op.attributes["dimension_numbers"]
    return _gathered(regions.builder, op, operands[0], operands[1], numbers)


def _gathered(
    builder: Builder, op: Op, tensor: Tensor, indices: Tensor, numbers: Mapping[str, Any]
) -> Tensor:
    sizes = op.integers("slice_sizes")
    vector_dimension = numbers["index_vector_dim"]
    batching = list(numbers["operand_batching_dims"])
    index_batching = list(numbers["start_indices_batching_dims"])
    start_map = list(numbers["start_index_map"])
    collapsed = [*numbers["collapsed_slice_dims"], *batching]
    vectors = index_vectors(builder, indices, vector_dimension)
    index_dims = [k for k in range(indices.rank) if k != vector_dimension]
    # The dimensions that operand and indices share come first in both.
    others = [k for k in index_dims if k not in index_batching]
    places = [index_dims.index(k) for k in (*index_batching, *others)]
    vectors = permuted(builder, vectors, [*places, len(index_dims)])
    rest = [k for k in range(tensor.rank) if k not in batching]
    source = permuted(builder, _source(builder, tensor), [*batching, *rest])
    shape, part = [tensor.shape[k] for k in rest], [sizes[k] for k in rest]

    def one(vector: Node, source: Node) -> Node:
        starts = {
            rest.index(dimension): component(builder, vector, position, indices.element)
            for position, dimension in enumerate(start_map)
        }
        found = sliced(builder, source, shape, part, starts)
        for depth in reversed([k for k, each in enumerate(rest) if each in collapsed]):
            found = builder.map_at(depth, builder.first, found)
        return found

    def batched(depth: int, vectors: Node, source: Node) -> Node:
        if depth == 0:
            return builder.map_at(len(others), lambda vector: one(vector, source), vectors)
        return builder.map(
            lambda pair: batched(depth - 1, *builder.parts(pair, 2)), builder.zip(vectors, source)
        )

    node = batched(len(batching), vectors, source)
    # The batch dimensions of the result are in the order of those of the indices.
    offsets = list(numbers["offset_dims"])
    rank = len(op.result.shape)
    batch = [k for k in range(rank) if k not in offsets]
    order = [0] * rank
    for position, dimension in enumerate(batch):
        order[dimension] = places.index(position)
    for position, dimension in enumerate(offsets):
        order[dimension] = len(batch) + position
    return whole(op.result.element, op.result.shape, permuted(builder, node, order))


def _source(builder: Builder, tensor: Tensor) -> Node:
    """Return an array to read at arbitrary indices, stored in memory unless it is a view."""
    node = node_of(builder, tensor)
    return builder.stored(node) if tensor.is_whole else node


@lowers("stablehlo.scatter", summary="`scatter` or `scatterWith` on the flat array")
def _scatter(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    tensors, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    numbers = op.attributes["scatter_dimension_numbers"]
    elements = [each.element for each in tensors]
    if updates[0].size == 0:
        return list(tensors)
    size = tensors[0].size
    places = _places(builder, tensors[0].shape, indices, updates[0].shape, numbers)
    flat_places = builder.map(lambda place: builder.clamp_idx(size + 1, place), places)
    # Updates out of bounds get an index past the end, and are dropped.
    before = [
        builder.concat(
            _flat(builder, each), builder.generate(1, lambda _, e=each: zero(builder, e.element))
        )
        for each in tensors
    ]
    start = zipped(builder, 1, before)
    new = zipped(builder, 1, [_flat(builder, each) for each in updates])
    if count == 1 and _replaces(op):
        node = builder.scatter(flat_places, start, new)
    else:
        added = step_of(regions, op.regions[0], elements)
        node = builder.scatter_with(added, flat_places, start, new)
    parts = unzipped(builder, 1, builder.take(size, node), [(each, (size,)) for each in elements])
    return [reshaped(builder, each, op.results[0].shape) for each in parts]


def _flat(builder: Builder, tensor: Tensor) -> Node:
    return node_of(builder, reshaped(builder, tensor, (tensor.size,)))


def _replaces(op: Op) -> bool:
    """Whether the body just returns the new value."""
    region = op.regions[0]
    (end,) = region.operations[-1:]
    return len(region.operations) == 1 and end.operands == (region.arguments[1],)


def _places(
    builder: Builder,
    shape: Sequence[int],
    indices: Tensor,
    update_shape: Sequence[int],
    numbers: Mapping[str, Any],
) -> Node:
    """Return the index of each update element in the flat operand; its size if it is dropped.

    A window that does not fit as a whole is dropped.
    """
    window_dims = list(numbers["update_window_dims"])
    inserted = list(numbers["inserted_window_dims"])
    batching = list(numbers["input_batching_dims"])
    index_batching = list(numbers["scatter_indices_batching_dims"])
    scattered = list(numbers["scattered_dims_to_operand_dims"])
    vectors = index_vectors(builder, indices, numbers["index_vector_dim"])
    index_dims = [k for k in range(indices.rank) if k != numbers["index_vector_dim"]]
    scatter_dims = [k for k in range(len(update_shape)) if k not in window_dims]
    windowed = [k for k in range(len(shape)) if k not in inserted and k not in batching]
    extents = {k: update_shape[dim] for k, dim in zip(windowed, window_dims, strict=True)}
    strides = _strides(shape)
    size = strides[0] * shape[0] if shape else 1

    def wide(number: int) -> Node:
        return builder.literal(number, i64)

    def plus(left: Node, right: Node) -> Node:
        return builder.operation("arith.addi", [left, right], i64)

    def times(left: Node, number: int) -> Node:
        return builder.operation("arith.muli", [left, wide(number)], i64)

    def index_of(i: Node, bound: int) -> Node:
        return builder.convert(builder.from_idx(i, bound), i64)

    def window(vector: Node, batch: Sequence[Node]) -> Node:
        origin, fits = wide(0), None
        for position, dimension in enumerate(scattered):
            start = component(builder, vector, position, indices.element)
            last = shape[dimension] - extents.get(dimension, 1)
            inside = builder.operation(
                "arith.andi",
                [builder.compare("ge", start, wide(0)), builder.compare("le", start, wide(last))],
                i1,
            )
            fits = inside if fits is None else builder.operation("arith.andi", [fits, inside], i1)
            origin = plus(origin, times(start, strides[dimension]))
        for dimension, index_dimension in zip(batching, index_batching, strict=True):
            place = batch[index_dims.index(index_dimension)]
            origin = plus(origin, times(place, strides[dimension]))

        def offsets(level: int, place: Node) -> Node:
            if level == len(windowed):
                return place if fits is None else builder.select(fits, place, wide(size))
            dimension = windowed[level]
            extent = extents[dimension]
            return builder.generate(
                extent,
                lambda i: offsets(
                    level + 1, plus(place, times(index_of(i, extent), strides[dimension]))
                ),
            )

        return offsets(0, origin)

    def over(level: int, vectors: Node, batch: list[Node]) -> Node:
        if level == len(index_dims):
            return window(vectors, batch)
        length = indices.shape[index_dims[level]]
        if index_dims[level] not in index_batching:
            nothing = wide(0)
            return builder.map(lambda row: over(level + 1, row, [*batch, nothing]), vectors)
        counted = builder.generate(length, lambda i: index_of(i, length))

        def body(pair: Node) -> Node:
            row, place = builder.parts(pair, 2)
            return over(level + 1, row, [*batch, place])

        return builder.map(body, builder.zip(vectors, counted))

    node = over(0, vectors, [])
    # Scatter dimensions come first here, then window dimensions.
    arranged = [*scatter_dims, *window_dims]
    node = permuted(builder, node, [arranged.index(k) for k in range(len(update_shape))])
    return _flat(builder, whole(_WIDE, update_shape, node))


def _strides(shape: Sequence[int]) -> list[int]:
    strides: list[int] = []
    total = 1
    for length in reversed(shape):
        strides.append(total)
        total *= length
    return strides[::-1]
