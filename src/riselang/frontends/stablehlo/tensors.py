"""Tensors during lowering: a node, and the dimensions along which it is broadcast.

A broadcast costs nothing until something needs the whole array: `zip` and `map` capture values that
do not vary along a dimension. The array may have its dimensions in another order than the tensor:
convolutions compute the features last, and elementwise ops keep this order. Constants and iotas are
rebuilt wherever they are used, so they are never stored in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from riselang.dialects.rise.types import ArrayType, RiseType, array
from riselang.frontends.stablehlo.elements import ElementType
from riselang.frontends.term_builder import Builder, is_split, length_of
from riselang.term.build import Node


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of `shape`: an array with one dimension for each in `varying`, in this order."""

    element: ElementType
    shape: tuple[int, ...]
    varying: tuple[int, ...]
    """The dimensions that the array has; along the others it is broadcast. They ascend, except in
    the operands and results of the ops that `keeps_order` marks."""
    make: Callable[[], Node]
    """Builds the array; a new node each time if it is cheap."""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_whole(self) -> bool:
        return len(self.varying) == len(self.shape)

    @property
    def is_ordered(self) -> bool:
        return list(self.varying) == sorted(self.varying)


def whole_tensor(element: ElementType, shape: Sequence[int], node: Node) -> Tensor:
    """Return a tensor that an array holds entirely."""
    return Tensor(element, tuple(shape), tuple(range(len(shape))), lambda: node)


def broadcast_tensor(tensor: Tensor, shape: Sequence[int], dimensions: Sequence[int]) -> Tensor:
    """Broadcast a tensor to a larger shape; its dimensions become `dimensions`."""
    varying = tuple(dimensions[each] for each in tensor.varying)
    return Tensor(tensor.element, tuple(shape), varying, tensor.make)


def array_type(element: ElementType, shape: Sequence[int]) -> RiseType:
    type: RiseType = element.scalar
    for length in reversed(shape):
        type = array(length, type)
    return type


def permute_dimensions(builder: Builder, node: Node, order: Sequence[int]) -> Node:
    """Permute the dimensions of an array: dimension k becomes dimension `order[k]` of the node."""
    current = list(range(len(order)))
    for target, wanted in enumerate(order):
        for depth in range(current.index(wanted), target, -1):
            node = builder.map_at(depth - 1, builder.transpose, node)
            current[depth - 1], current[depth] = current[depth], current[depth - 1]
    return node


def arrange(builder: Builder, tensor: Tensor, varying: Sequence[int]) -> Tensor:
    """Return a tensor whose array has the same dimensions in this order."""
    if tuple(varying) == tensor.varying:
        return tensor
    order = [tensor.varying.index(each) for each in varying]
    node = permute_dimensions(builder, tensor.make(), order)
    return replace(tensor, varying=tuple(varying), make=lambda: node)


def in_order(builder: Builder, tensor: Tensor) -> Tensor:
    """Return a tensor whose array has its dimensions in ascending order."""
    return arrange(builder, tensor, sorted(tensor.varying))


def materialize(builder: Builder, tensor: Tensor) -> Node:
    """Return the whole array, broadcast with `generate`, or with `split` to a length of 1."""
    tensor = in_order(builder, tensor)

    def expand(node: Node, dimension: int) -> Node:
        if all(each in tensor.varying for each in range(dimension, tensor.rank)):
            return node
        if dimension not in tensor.varying:
            length = tensor.shape[dimension]
            inner = expand(node, dimension + 1)
            if length == 1 and isinstance(inner.type, ArrayType):
                return builder.split(inner.type.length, 1, inner)
            return builder.generate(length, lambda _: inner)
        return builder.map(lambda row: expand(row, dimension + 1), node)

    return expand(tensor.make(), 0)


def zero_literal(builder: Builder, element: ElementType) -> Node:
    return builder.literal(0.0 if element.is_float else 0, element.scalar)


def fill_array(builder: Builder, value: Node, shape: Sequence[int]) -> Node:
    """Fill an array with one value."""
    if not shape:
        return value
    return builder.generate(shape[0], lambda _: fill_array(builder, value, shape[1:]))


def zero_tensor(builder: Builder, element: ElementType, shape: Sequence[int]) -> Tensor:
    return whole_tensor(element, shape, fill_array(builder, zero_literal(builder, element), shape))


def constant_tensor(
    builder: Builder, element: ElementType, shape: Sequence[int], number: complex
) -> Tensor:
    return Tensor(element, tuple(shape), (), lambda: builder.literal(number, element.scalar))


def iota_tensor(
    builder: Builder, element: ElementType, shape: Sequence[int], dimension: int
) -> Tensor:
    """Return the index along a dimension."""
    length = shape[dimension]

    def make() -> Node:
        return builder.generate(
            length, lambda i: builder.convert(builder.from_idx(i, length), element.scalar)
        )

    return Tensor(element, tuple(shape), (dimension,), make)


def broadcast_unit_dimensions(
    builder: Builder, tensor: Tensor, dimensions: Sequence[int]
) -> Tensor:
    """Turn dimensions of length 1 into broadcast ones."""
    for dimension in dimensions:
        if dimension in tensor.varying:
            depth = tensor.varying.index(dimension)
            node = builder.map_at(depth, builder.first, tensor.make())
            varying = tuple(each for each in tensor.varying if each != dimension)
            tensor = replace(tensor, varying=varying, make=lambda node=node: node)
    return tensor


def without_dimensions(tensor: Tensor, dropped: Sequence[int]) -> Tensor:
    """Drop dimensions along which a tensor is broadcast."""
    kept = [k for k in range(tensor.rank) if k not in dropped]
    varying = tuple(kept.index(k) for k in tensor.varying)
    shape = tuple(tensor.shape[k] for k in kept)
    return replace(tensor, shape=shape, varying=varying)


def with_common_dimensions(builder: Builder, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Broadcast the dimensions of length 1 that an array of matrices or more dimensions lacks, so
    that no loop remains for them."""
    units = {
        dimension
        for tensor in tensors
        for dimension in tensor.varying
        if tensor.shape[dimension] == 1
        and any(
            dimension not in each.varying and sum(each.shape[k] > 1 for k in each.varying) > 1
            for each in tensors
        )
    }
    return [broadcast_unit_dimensions(builder, each, sorted(units)) for each in tensors]


def _common_order(tensors: Sequence[Tensor]) -> list[int]:
    """Return the dimensions of tensors: in the order of the largest ones if these agree.

    If some have the order of the model and the others agree on another one, as results of
    convolutions do, it is the other one: the next convolution needs it, too.
    """
    ascending = tuple(sorted({each for tensor in tensors for each in tensor.varying}))
    orders = {each.varying for each in tensors if len(each.varying) == len(ascending)}
    others = orders - {ascending}
    return list(others.pop() if len(others) == 1 else ascending)


def map_elements(
    builder: Builder,
    tensors: Sequence[Tensor],
    shape: Sequence[int],
    element: ElementType,
    function: Callable[[list[Node]], Node],
) -> Tensor:
    """Apply a scalar function to the elements of tensors of one shape, as nested maps over zips."""
    tensors = with_common_dimensions(builder, tensors)
    varying = _common_order(tensors)
    tensors = [arrange(builder, each, sorted(each.varying, key=varying.index)) for each in tensors]
    nodes = [tensor.make() for tensor in tensors]

    def moving(level: int) -> list[int]:
        return [k for k, each in enumerate(tensors) if varying[level] in each.varying]

    def nest(level: int, nodes: list[Node]) -> Node:
        return function(nodes) if level == len(varying) else map_joined(level, nodes, 1)

    def map_joined(level: int, nodes: list[Node], count: int) -> Node:
        """Map over `count` dimensions, which are joined: rows that are split stay rows of one
        matrix, so that the function becomes an epilogue of what computes it."""
        inner_level, arrays = level + count, moving(level)
        if (
            inner_level < len(varying)
            and arrays == moving(inner_level)
            and any(is_split(nodes[k]) for k in arrays)
        ):
            length = tensors[arrays[0]].shape[varying[inner_level]]
            joined = [builder.join(each) if k in arrays else each for k, each in enumerate(nodes)]
            rows = map_joined(level, joined, count + 1)
            return builder.split(length, length_of(rows) // length, rows)

        def body(value: Node) -> Node:
            inner = list(nodes)
            for k, part in zip(arrays, builder.unpack_tuple(value, len(arrays)), strict=True):
                inner[k] = part
            return nest(inner_level, inner)

        return builder.map(body, builder.zip_all([nodes[k] for k in arrays]))

    node = nest(0, nodes)
    return Tensor(element, tuple(shape), tuple(varying), lambda: node)
