"""Contractions and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import common_shape
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import broadcast_to, reshape, transpose
from riselang.support.errors import LimitationError


def dot_general(
    left: Value,
    right: Value,
    batch: tuple[Sequence[int], Sequence[int]],
    contracted: tuple[Sequence[int], Sequence[int]],
    element: str | None = None,
) -> Value:
    """Contract two tensors; the result has the batch, the left and the right dimensions."""
    for a, b in (*zip(*batch, strict=True), *zip(*contracted, strict=True)):
        if left.shape[a] != right.shape[b]:
            raise LimitationError(
                f"tensors of the shapes {left.shape} and {right.shape} cannot be contracted"
            )
    free = [
        [length for k, length in enumerate(each.shape) if k not in (*batch[n], *contracted[n])]
        for n, each in enumerate((left, right))
    ]
    shape = (*(left.shape[k] for k in batch[0]), *free[0], *free[1])
    numbers = {
        "lhs_batching_dimensions": tuple(batch[0]), "rhs_batching_dimensions": tuple(batch[1]),
        "lhs_contracting_dimensions": tuple(contracted[0]),
        "rhs_contracting_dimensions": tuple(contracted[1]),
    }  # fmt: skip
    if 0 in (*left.shape, *right.shape):
        return left.graph.full(0, shape, element or left.element)
    return left.graph.emit_one(
        "dot_general",
        [left, right],
        (shape, element or left.element),
        dot_dimension_numbers=numbers,
    )


def matmul(left: Value, right: Value, element: str | None = None) -> Value:
    """Multiply matrices as `numpy.matmul`: leading dimensions are broadcast."""
    if not left.rank or not right.rank:
        raise LimitationError("a scalar is not a matrix")
    if left.rank == right.rank == 1:
        return dot_general(left, right, ((), ()), ((0,), (0,)), element)
    if left.rank == 1:
        row = matmul(reshape(left, (1, *left.shape)), right, element)
        return reshape(row, (*row.shape[:-2], *row.shape[-1:]))
    if right.rank == 1:
        column = matmul(left, reshape(right, (*right.shape, 1)), element)
        return reshape(column, column.shape[:-1])
    if right.rank == 2:
        return dot_general(left, right, ((), ()), ((left.rank - 1,), (0,)), element)
    batches = [left.graph.full(0, each.shape[:-2], left.element) for each in (left, right)]
    lead = common_shape(batches)
    left = broadcast_to(left, (*lead, *left.shape[-2:]))
    right = broadcast_to(right, (*lead, *right.shape[-2:]))
    dims = range(len(lead))
    rank = len(lead)
    return dot_general(left, right, (dims, dims), ((rank + 1,), (rank,)), element)


def convolution(
    images: Value,
    kernels: Value,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilations: Sequence[int],
    groups: int = 1,
    spreads: Sequence[int] | None = None,
) -> Value:
    """Convolve NC... images with OI... kernels; `spreads` are dilations of the images."""
    rank = images.rank - 2
    spreads = list(spreads or [1] * rank)
    if kernels.rank != images.rank or images.shape[1] != kernels.shape[1] * groups:
        raise LimitationError(
            f"kernels of the shape {kernels.shape} do not fit images of the shape {images.shape} "
            f"in {groups} groups"
        )
    lengths = [
        ((length - 1) * spread + 1 + before + after - ((size - 1) * dilation + 1)) // stride + 1
        for length, size, stride, dilation, spread, (before, after) in zip(
            images.shape[2:], kernels.shape[2:], strides, dilations, spreads, padding, strict=True
        )
    ]
    shape = (images.shape[0], kernels.shape[0], *lengths)
    spatial = tuple(range(2, 2 + rank))
    numbers = {
        "input_batch_dimension": 0, "input_feature_dimension": 1,
        "input_spatial_dimensions": spatial, "kernel_output_feature_dimension": 0,
        "kernel_input_feature_dimension": 1, "kernel_spatial_dimensions": spatial,
        "output_batch_dimension": 0, "output_feature_dimension": 1,
        "output_spatial_dimensions": spatial,
    }  # fmt: skip
    return images.graph.emit_one(
        "convolution", [images, kernels], (shape, images.element), dimension_numbers=numbers,
        window_strides=tuple(strides), padding=tuple(padding), lhs_dilation=tuple(spreads),
        rhs_dilation=tuple(dilations), feature_group_count=groups, batch_group_count=1,
    )  # fmt: skip


def interpolation_matrix(values: np.ndarray, element: str, like: Value) -> Value:
    return like.graph.constant(values, element)


def multiply_axis(x: Value, axis: int, matrix: Value) -> Value:
    """Multiply a dimension by a matrix whose rows are the new elements."""
    found = dot_general(x, matrix, ((), ()), ((axis,), (1,)))
    order = list(range(x.rank - 1))
    order.insert(axis, x.rank - 1)
    return transpose(found, order)
