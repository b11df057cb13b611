"""Data movement ops: views and broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.attributes import MAX_LITERAL_ELEMENTS
from riselang.frontends.stablehlo.elements import ElementType
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, keeps_order, lowers_op
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    array_type,
    broadcast_tensor,
    broadcast_unit_dimensions,
    constant_tensor,
    fill_array,
    iota_tensor,
    materialize,
    permute_dimensions,
    whole_tensor,
    zero_tensor,
)
from riselang.frontends.term_builder import Builder, length_of, shape_of
from riselang.term.build import Node


@lowers_op(
    "stablehlo.constant",
    "arith.constant",
    summary="a literal, or a bound argument",
)
def _constant(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    value = op.attributes["value"]
    if not isinstance(value, np.ndarray):
        raise op.unsupported(f"the constant {value} cannot be read")
    element, shape = op.result.element, op.result.shape
    first = value.reshape(-1)[:1]
    if value.size and (value.strides == (0,) * value.ndim or bool(np.all(value == first))):
        # 0.0 and -0.0 compare equal, but differ.
        bits = np.ascontiguousarray(value).tobytes()
        if bits == first.tobytes() * value.size:
            exact = _python_number(first[0], element)
            return constant_tensor(regions.builder, element, shape, exact)
    if 0 < value.size <= MAX_LITERAL_ELEMENTS:
        numbers = [_python_number(each, element) for each in value.reshape(-1)]
        node = regions.builder.literal_array(numbers, array_type(element, shape))
        return whole_tensor(element, shape, node)
    return regions.add_constant(value, op.result)


def _python_number(number: Any, element: ElementType) -> complex:
    if element.is_complex:
        return complex(number)
    return float(number) if element.is_float else int(number)


@lowers_op("stablehlo.iota", "stablehlo.dynamic_iota", summary="`generate`")
def _iota(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    return iota_tensor(
        regions.builder, op.result.element, op.result.shape, op.integer("iota_dimension")
    )


@keeps_order("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
@lowers_op(
    "stablehlo.broadcast_in_dim",
    "stablehlo.dynamic_broadcast_in_dim",
    summary="no code if elementwise ops read it, otherwise `generate`",
)
def _broadcast_in_dim(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    dimensions = op.integer_list("broadcast_dimensions")
    return broadcast(regions.builder, operands[0], op.result.shape, dimensions)


@lowers_op(
    "stablehlo.broadcast", summary="no code if elementwise ops read it, otherwise `generate`"
)
def _broadcast(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    new = len(op.integer_list("broadcast_sizes"))
    dimensions = range(new, len(op.result.shape))
    return broadcast(regions.builder, operands[0], op.result.shape, tuple(dimensions))


def broadcast(
    builder: Builder, tensor: Tensor, shape: Sequence[int], dimensions: Sequence[int]
) -> Tensor:
    grown = [k for k, dimension in enumerate(dimensions) if tensor.shape[k] != shape[dimension]]
    tensor = broadcast_unit_dimensions(builder, tensor, grown)
    kept = tensor.varying
    ordered = sorted(kept, key=lambda k: dimensions[k])
    if tensor.is_ordered and ordered != list(kept):
        order = [kept.index(k) for k in ordered]
        node = permute_dimensions(builder, tensor.make(), order)
        varying = tuple(dimensions[k] for k in ordered)
        return Tensor(tensor.element, tuple(shape), varying, lambda: node)
    return broadcast_tensor(tensor, shape, dimensions)


def _replace_node(tensor: Tensor, varying: tuple[int, ...], node: Node) -> Tensor:
    return Tensor(tensor.element, tensor.shape, varying, lambda: node)


@keeps_order("stablehlo.transpose")
@lowers_op("stablehlo.transpose", summary="`transpose`, inside `map`s for inner dimensions")
def _transpose(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    (tensor,) = operands
    order = op.integer_list("permutation")
    dimensions = [order.index(k) for k in range(tensor.rank)]
    return broadcast(regions.builder, tensor, op.result.shape, dimensions)


@lowers_op(
    "stablehlo.reshape",
    "stablehlo.dynamic_reshape",
    summary="`join` and `split`, inside `map`s for inner dimensions",
)
def _reshape(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    return reshape_tensor(regions.builder, operands[0], op.result.shape)


def reshape_tensor(builder: Builder, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    shape = tuple(shape)
    if tensor.shape == shape:
        return tensor
    if tensor.size == 0:
        return zero_tensor(builder, tensor.element, shape)
    tensor = _drop_unit_dimensions(builder, tensor)
    lengths = [length for length in shape if length != 1]
    if list(tensor.shape) != lengths:
        node = _regroup_dimensions(
            builder, materialize(builder, tensor), list(tensor.shape), lengths
        )
        tensor = whole_tensor(tensor.element, lengths, node)
    dimensions = [k for k, length in enumerate(shape) if length != 1]
    return broadcast_tensor(tensor, shape, dimensions)


def regroup_array(
    builder: Builder, node: Node, shape: Sequence[int], lengths: Sequence[int]
) -> Node:
    """Reshape an array by `join`s and `split`s of all dimensions, without maps: matrices that it
    becomes are packed like others."""
    if list(shape) == list(lengths):
        return node
    for _ in shape[1:]:
        node = builder.join(node)
    return _split_dimensions(builder, node, lengths)


def _drop_unit_dimensions(builder: Builder, tensor: Tensor) -> Tensor:
    """Drop the dimensions of length 1."""
    units = [k for k, length in enumerate(tensor.shape) if length == 1]
    tensor = broadcast_unit_dimensions(builder, tensor, units)
    kept = [k for k in range(tensor.rank) if k not in units]
    varying = tuple(kept.index(k) for k in tensor.varying)
    return Tensor(tensor.element, tuple(tensor.shape[k] for k in kept), varying, tensor.make)


def _regroup_dimensions(builder: Builder, node: Node, source: list[int], target: list[int]) -> Node:
    """Reshape with `join` and `split`, one group of dimensions with equal products at a time."""

    def step(node: Node, source: list[int], target: list[int]) -> Node:
        if source == target:
            return node
        count, other = _matching_group(source, target)
        if count == other == 1:
            return builder.map(lambda row: step(row, source[1:], target[1:]), node)
        for _ in range(count - 1):
            node = builder.join(node)
        rest, wanted = source[count:], target[other:]
        if rest != wanted:
            node = builder.map(lambda row: step(row, rest, wanted), node)
        return _split_dimensions(builder, node, target[:other])

    return step(node, source, target)


def _matching_group(source: Sequence[int], target: Sequence[int]) -> tuple[int, int]:
    """Return how many leading dimensions of each have the same product, at least one."""
    count, other, left, right = 1, 1, source[0], target[0]
    while left != right:
        if left < right:
            left *= source[count]
            count += 1
        else:
            right *= target[other]
            other += 1
    return count, other


def _split_dimensions(builder: Builder, node: Node, lengths: Sequence[int]) -> Node:
    """Split an array into dimensions of these lengths, from the inside out."""
    if len(lengths) < 2:
        return node
    rows = 1
    for length in lengths[:-1]:
        rows *= length
    return _split_dimensions(builder, builder.split(lengths[-1], rows, node), lengths[:-1])


@lowers_op("stablehlo.slice", summary="`drop`, `take` and `slide` in each dimension")
def _slice(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    (tensor,) = operands
    starts, ends = op.integer_list("start_indices"), op.integer_list("limit_indices")
    strides = op.integer_list("strides", [1] * tensor.rank)
    builder, node = regions.builder, tensor.make()
    for dimension, (start, end, stride) in enumerate(zip(starts, ends, strides, strict=True)):
        if dimension in tensor.varying and (start, end, stride) != (0, tensor.shape[dimension], 1):
            depth = tensor.varying.index(dimension)
            count = op.result.shape[dimension]
            node = builder.map_at(
                depth,
                lambda xs, a=start, n=count, s=stride: strided_slice(builder, xs, a, n, s),
                node,
            )
    return Tensor(tensor.element, op.result.shape, tensor.varying, lambda: node)


def strided_slice(builder: Builder, xs: Node, start: int, count: int, stride: int) -> Node:
    """Return `count` elements from `start`, `stride` apart."""
    length = stride * (count - 1) + 1 if count else 0
    xs = builder.take(length, builder.drop(start, xs))
    if stride == 1 or count < 2:
        return xs
    return builder.join(builder.slide(count, 1, stride, xs))


@lowers_op("stablehlo.reverse", summary="`reverse` in each dimension")
def _reverse(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    (tensor,) = operands
    node = tensor.make()
    for dimension in op.integer_list("dimensions"):
        if dimension in tensor.varying:
            depth = tensor.varying.index(dimension)
            node = regions.builder.map_at(depth, regions.builder.reverse, node)
    return _replace_node(tensor, tensor.varying, node)


@lowers_op("stablehlo.concatenate", summary="`concat`, inside `map`s for an inner dimension")
def _concatenate(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder, dimension = regions.builder, op.integer("dimension")
    parts = [each for each in operands if each.shape[dimension]]
    if not parts:
        return operands[0]
    node = materialize(builder, parts[0])
    for each in parts[1:]:
        node = _concatenate_arrays(builder, dimension, node, materialize(builder, each))
    return whole_tensor(op.result.element, op.result.shape, node)


def _concatenate_arrays(builder: Builder, depth: int, left: Node, right: Node) -> Node:
    if depth == 0:
        return builder.concat(left, right)

    def body(pair: Node) -> Node:
        first, second = builder.unpack_tuple(pair, 2)
        return _concatenate_arrays(builder, depth - 1, first, second)

    return builder.map(body, builder.zip(left, right))


@lowers_op(
    "stablehlo.pad", summary="`padConst` in each dimension; interior padding also uses `join`"
)
def _pad(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    tensor, value = operands
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    paddings = list(zip(*(op.integer_list(name) for name in names), strict=True))
    node = pad_array(regions.builder, materialize(regions.builder, tensor), value.make(), paddings)
    return whole_tensor(op.result.element, op.result.shape, node)


def pad_array(
    builder: Builder, node: Node, value: Node, paddings: Sequence[tuple[int, int, int]]
) -> Node:
    """Pad each dimension with a scalar: before, after and between the elements.

    Negative padding removes elements.
    """
    for depth, padding in enumerate(paddings):
        if padding == (0, 0, 0):
            continue

        def pad_one(xs: Node, padding: tuple[int, int, int] = padding) -> Node:
            border = fill_array(builder, value, shape_of(xs)[1:])
            return _pad_dimension(builder, xs, border, padding)

        node = builder.map_at(depth, pad_one, node)
    return node


def _pad_dimension(builder: Builder, xs: Node, value: Node, padding: tuple[int, int, int]) -> Node:
    before, after, between = padding
    length = length_of(xs).constant
    if between and length > 1:
        spread = builder.map(
            lambda x: builder.pad_const(0, between, value, builder.generate(1, lambda _: x)), xs
        )
        length = length * (between + 1) - between
        xs = builder.take(length, builder.join(spread))
    if before < 0:
        xs = builder.drop(min(-before, length), xs)
        length -= min(-before, length)
    if after < 0:
        length -= min(-after, length)
        xs = builder.take(length, xs)
    if before > 0 or after > 0:
        return builder.pad_const(max(before, 0), max(after, 0), value, xs)
    return xs


@lowers_op("stablehlo.optimization_barrier", summary="no code")
def _identity(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    return list(operands)
