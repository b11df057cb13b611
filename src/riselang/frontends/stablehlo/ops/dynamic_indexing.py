"""Ops whose indices are known only at run time: slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.dialects.rise.types import i1, i64, index, u64
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType
from riselang.frontends.stablehlo.ops.data_movement import reshape_tensor
from riselang.frontends.stablehlo.ops.reduction import reduction_step, unzip_tensors, zip_arrays
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    materialize,
    permute_dimensions,
    whole_tensor,
    zero_literal,
)
from riselang.frontends.term_builder import Builder, length_of
from riselang.term.build import Node

Starts = Mapping[int, Node]
"""The first index in some of the dimensions."""


def convert_to_i64(builder: Builder, value: Node, element: ElementType) -> Node:
    """Convert an integer to i64; larger unsigned numbers, which no index is, become the largest."""
    if element.scalar == u64:
        value = builder.operation("arith.minui", [value, builder.literal(2**63 - 1, u64)], u64)
    return builder.convert(value, i64)


def slice_array(
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


@lowers_op("stablehlo.dynamic_slice", summary="`sliceAt` in each dimension")
def _dynamic_slice(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    tensor, *indices = operands
    starts = {
        k: convert_to_i64(builder, each.make(), each.element) for k, each in enumerate(indices)
    }
    node = materialize(builder, tensor)
    sizes = op.integer_list("slice_sizes")
    return whole_tensor(
        tensor.element, op.result.shape, slice_array(builder, node, tensor.shape, sizes, starts)
    )


@lowers_op("stablehlo.dynamic_update_slice", summary="`updateAt` in each dimension")
def _dynamic_update_slice(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]
) -> Tensor:
    builder = regions.builder
    tensor, update, *indices = operands
    if update.size == 0:
        return tensor
    if tensor.rank == 0:
        return update
    starts = [
        builder.clamp_idx(length - size + 1, convert_to_i64(builder, each.make(), each.element))
        for length, size, each in zip(tensor.shape, update.shape, indices, strict=True)
    ]

    def replace(depth: int, xs: Node, new: Node) -> Node:
        size, length = update.shape[depth], tensor.shape[depth]
        last = depth == tensor.rank - 1
        if not last:
            old = xs if size == length else builder.slice_at(size, starts[depth], xs)
            new = builder.map(
                lambda pair: replace(depth + 1, *builder.unpack_tuple(pair, 2)),
                builder.zip(old, new),
            )
        return new if size == length else builder.update_at(starts[depth], new, xs)

    node = replace(0, materialize(builder, tensor), materialize(builder, update))
    return whole_tensor(tensor.element, tensor.shape, node)


def index_vectors(builder: Builder, indices: Tensor, vector_dimension: int) -> Node:
    """Return the indices as i64, with the index vector innermost."""
    node = materialize(builder, indices)
    if vector_dimension == indices.rank:
        return builder.map_at(indices.rank, lambda x: builder.generate(1, lambda _: x), node)
    others = [k for k in range(indices.rank) if k != vector_dimension]
    return permute_dimensions(builder, node, [*others, vector_dimension])


def index_component(builder: Builder, vector: Node, position: int, element: ElementType) -> Node:
    """Return one component of an index vector."""
    index_node = builder.clamp_idx(length_of(vector), builder.literal(position, index))
    return convert_to_i64(builder, builder.at(index_node, vector), element)


@lowers_op(
    "stablehlo.gather", summary="`map` over the indices; `at` and `sliceAt` read the operand"
)
def _gather(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    numbers = op.attributes["dimension_numbers"]
    return _gather_slices(regions.builder, op, operands[0], operands[1], numbers)


def _gather_slices(
    builder: Builder, op: TypedOp, tensor: Tensor, indices: Tensor, numbers: Mapping[str, Any]
) -> Tensor:
    sizes = op.integer_list("slice_sizes")
    vector_dimension = numbers["index_vector_dim"]
    batching = list(numbers["operand_batching_dims"])
    index_batching = list(numbers["start_indices_batching_dims"])
    start_map = list(numbers["start_index_map"])
    collapsed = [*numbers["collapsed_slice_dims"], *batching]
    vectors = index_vectors(builder, indices, vector_dimension)
    index_dims = [k for k in range(indices.rank) if k != vector_dimension]
    # The dimensions that operand and indices share come first in both.
    others = [k for k in index_dims if k not in index_batching]
    positions = [index_dims.index(k) for k in (*index_batching, *others)]
    vectors = permute_dimensions(builder, vectors, [*positions, len(index_dims)])
    rest = [k for k in range(tensor.rank) if k not in batching]
    source = permute_dimensions(builder, _stored_source(builder, tensor), [*batching, *rest])
    shape, part = [tensor.shape[k] for k in rest], [sizes[k] for k in rest]

    def one(vector: Node, source: Node) -> Node:
        starts = {
            rest.index(dimension): index_component(builder, vector, position, indices.element)
            for position, dimension in enumerate(start_map)
        }
        found = slice_array(builder, source, shape, part, starts)
        for depth in reversed([k for k, each in enumerate(rest) if each in collapsed]):
            found = builder.map_at(depth, builder.first, found)
        return found

    def map_batch(depth: int, vectors: Node, source: Node) -> Node:
        if depth == 0:
            return builder.map_at(len(others), lambda vector: one(vector, source), vectors)
        return builder.map(
            lambda pair: map_batch(depth - 1, *builder.unpack_tuple(pair, 2)),
            builder.zip(vectors, source),
        )

    node = map_batch(len(batching), vectors, source)
    # The batch dimensions of the result are in the order of those of the indices.
    offsets = list(numbers["offset_dims"])
    rank = len(op.result.shape)
    batch = [k for k in range(rank) if k not in offsets]
    order = [0] * rank
    for position, dimension in enumerate(batch):
        order[dimension] = positions.index(position)
    for position, dimension in enumerate(offsets):
        order[dimension] = len(batch) + position
    return whole_tensor(
        op.result.element, op.result.shape, permute_dimensions(builder, node, order)
    )


def _stored_source(builder: Builder, tensor: Tensor) -> Node:
    """Return an array to read at arbitrary indices, stored in memory unless it is a view."""
    node = materialize(builder, tensor)
    return builder.store_if_computed(node) if tensor.is_whole else node


@lowers_op("stablehlo.scatter", summary="`scatter` or `scatterWith` on the flattened array")
def _scatter(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    tensors, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    numbers = op.attributes["scatter_dimension_numbers"]
    elements = [each.element for each in tensors]
    if updates[0].size == 0:
        return list(tensors)
    size = tensors[0].size
    positions = _flat_indices(builder, tensors[0].shape, indices, updates[0].shape, numbers)
    clamped_indices = builder.map(
        lambda index_node: builder.clamp_idx(size + 1, index_node), positions
    )
    # Updates out of bounds get an index past the end, and are dropped.
    before = [
        builder.concat(
            _flatten_tensor(builder, each),
            builder.generate(1, lambda _, e=each: zero_literal(builder, e.element)),
        )
        for each in tensors
    ]
    start = zip_arrays(builder, 1, before)
    new = zip_arrays(builder, 1, [_flatten_tensor(builder, each) for each in updates])
    if count == 1 and _replaces(op):
        node = builder.scatter(clamped_indices, start, new)
    else:
        added = reduction_step(regions, op.regions[0], elements)
        node = builder.scatter_with(added, clamped_indices, start, new)
    parts = unzip_tensors(
        builder, 1, builder.take(size, node), [(each, (size,)) for each in elements]
    )
    return [reshape_tensor(builder, each, op.results[0].shape) for each in parts]


def _flatten_tensor(builder: Builder, tensor: Tensor) -> Node:
    return materialize(builder, reshape_tensor(builder, tensor, (tensor.size,)))


def _replaces(op: TypedOp) -> bool:
    """Whether the body just returns the new value."""
    region = op.regions[0]
    (end,) = region.operations[-1:]
    return len(region.operations) == 1 and end.operands == (region.arguments[1],)


def _flat_indices(
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
    strides = _row_major_strides(shape)
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
            start = index_component(builder, vector, position, indices.element)
            last = shape[dimension] - extents.get(dimension, 1)
            inside = builder.operation(
                "arith.andi",
                [builder.compare("ge", start, wide(0)), builder.compare("le", start, wide(last))],
                i1,
            )
            fits = inside if fits is None else builder.operation("arith.andi", [fits, inside], i1)
            origin = plus(origin, times(start, strides[dimension]))
        for dimension, index_dimension in zip(batching, index_batching, strict=True):
            index_node = batch[index_dims.index(index_dimension)]
            origin = plus(origin, times(index_node, strides[dimension]))

        def offsets(level: int, index_node: Node) -> Node:
            if level == len(windowed):
                return index_node if fits is None else builder.select(fits, index_node, wide(size))
            dimension = windowed[level]
            extent = extents[dimension]
            return builder.generate(
                extent,
                lambda i: offsets(
                    level + 1, plus(index_node, times(index_of(i, extent), strides[dimension]))
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
            row, index_node = builder.unpack_tuple(pair, 2)
            return over(level + 1, row, [*batch, index_node])

        return builder.map(body, builder.zip(vectors, counted))

    node = over(0, vectors, [])
    # Scatter dimensions come first here, then window dimensions.
    arranged = [*scatter_dims, *window_dims]
    node = permute_dimensions(builder, node, [arranged.index(k) for k in range(len(update_shape))])
    return _flatten_tensor(builder, whole_tensor(ELEMENT_TYPES["i64"], update_shape, node))


def _row_major_strides(shape: Sequence[int]) -> list[int]:
    strides: list[int] = []
    total = 1
    for length in reversed(shape):
        strides.append(total)
        total *= length
    return strides[::-1]
