"""Tensors during lowering: a node, and the dimensions along which it is broadcast.

A broadcast costs nothing until something needs the whole array: `zip` and `map` capture values that
do not vary along a dimension. Constants and iotas are rebuilt wherever they are used, so they are
never stored in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import RiseType, array
from riselang.frontends.stablehlo.elements import ElementType
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of `shape`: an array with one dimension for each in `varying`, in order."""

    element: ElementType
    shape: tuple[int, ...]
    varying: tuple[int, ...]
    """The dimensions that the array has; along the others it is broadcast."""
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


def whole_tensor(element: ElementType, shape: Sequence[int], node: Node) -> Tensor:
    """Return a tensor that an array holds entirely."""
    return Tensor(element, tuple(shape), tuple(range(len(shape))), lambda: node)


def broadcast_tensor(tensor: Tensor, shape: Sequence[int], dimensions: Sequence[int]) -> Tensor:
    """Broadcast a tensor to a larger shape; its dimensions become `dimensions`, which ascend."""
    varying = tuple(dimensions[each] for each in tensor.varying)
    return Tensor(tensor.element, tuple(shape), varying, tensor.make)


def array_type(element: ElementType, shape: Sequence[int]) -> RiseType:
    type: RiseType = element.scalar
    for length in reversed(shape):
        type = array(length, type)
    return type


def materialize(builder: Builder, tensor: Tensor) -> Node:
    """Return the whole array, broadcast with `generate` if needed."""

    def expand(node: Node, dimension: int) -> Node:
        if all(each in tensor.varying for each in range(dimension, tensor.rank)):
            return node
        if dimension not in tensor.varying:
            return builder.generate(tensor.shape[dimension], lambda _: expand(node, dimension + 1))
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


def map_elements(
    builder: Builder,
    tensors: Sequence[Tensor],
    shape: Sequence[int],
    element: ElementType,
    function: Callable[[list[Node]], Node],
) -> Tensor:
    """Apply a scalar function to the elements of tensors of one shape, as nested maps over zips."""
    varying = sorted({each for tensor in tensors for each in tensor.varying})
    nodes = [tensor.make() for tensor in tensors]

    def nest(level: int, nodes: list[Node]) -> Node:
        if level == len(varying):
            return function(nodes)
        moving = [k for k, each in enumerate(tensors) if varying[level] in each.varying]

        def body(value: Node) -> Node:
            inner = list(nodes)
            for k, part in zip(moving, builder.unpack_tuple(value, len(moving)), strict=True):
                inner[k] = part
            return nest(level + 1, inner)

        return builder.map(body, builder.zip_all([nodes[k] for k in moving]))

    node = nest(0, nodes)
    return Tensor(element, tuple(shape), tuple(varying), lambda: node)
