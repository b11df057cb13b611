"""Convolution: a dot product for each window and kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.stablehlo.ops.data_movement import permute_dimensions
from riselang.frontends.stablehlo.ops.dot_general import (
    Accumulation,
    contract_arrays,
    store_if_computed,
)
from riselang.frontends.stablehlo.ops.window_views import (
    Role,
    WindowMove,
    pad_for_windows,
    window_views,
)
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, whole_tensor, zero_literal
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node

BATCH, FEATURE = -1, -2
"""The labels of non-spatial dimensions; spatial ones are labeled by their numbers."""


@dataclass(frozen=True)
class Layout:
    """The labels of the dimensions of images, kernels and results."""

    image: list[int]
    kernel: list[int]
    """Its batch dimension is that of the kernels, one for each output feature."""
    result: list[int]

    @property
    def spatial(self) -> int:
        return len(self.image) - 2


def read_layout(numbers: Mapping[str, Any]) -> Layout:
    def labels(batch: str, feature: str, spatial: str) -> list[int]:
        found = {numbers[batch]: BATCH, numbers[feature]: FEATURE}
        found |= {dimension: k for k, dimension in enumerate(numbers[spatial])}
        return [found[k] for k in range(len(found))]

    return Layout(
        labels("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
        labels("kernel_output_feature_dimension", "kernel_input_feature_dimension",
               "kernel_spatial_dimensions"),
        labels("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
    )  # fmt: skip


@lowers_op(
    "stablehlo.convolution",
    summary="`slide` in each dimension, `map`s over windows and kernels, and `reduce` over `zip`",
)
def _convolution(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    image, kernel = operands
    layout = read_layout(op.attributes["dimension_numbers"])
    # The features and offsets of a window are in the order of the image.
    inner = [label for label in layout.image if label != BATCH]
    images = permute_dimensions(
        builder,
        store_if_computed(builder, image),
        [layout.image.index(each) for each in (BATCH, *inner)],
    )
    kernels = permute_dimensions(
        builder,
        store_if_computed(builder, kernel),
        [layout.kernel.index(each) for each in (BATCH, *inner)],
    )
    kernels = _reverse_kernels(builder, op, kernels, inner)
    moves = _window_moves(op, layout, inner, image, kernel)
    # If windows have one element, so have kernels.
    for depth in reversed([k for k, each in enumerate(moves) if each.role is Role.POSITION]):
        kernels = builder.map_at(1 + depth, builder.first, kernels)
    sum = Accumulation(builder, op.result.element)
    form = _ConvolutionForm(moves, inner, zero_literal(builder, image.element), sum)
    groups = op.integer("feature_group_count", 1)
    batches = op.integer("batch_group_count", 1)
    if groups == batches == 1:
        node = form.convolve(builder, images, kernels, layout.result)
        return whole_tensor(op.result.element, op.result.shape, node)
    if batches > 1:
        count = image.shape[layout.image.index(BATCH)] // batches
        grouped = builder.split(count, batches, images)
    else:
        grouped = _group_images(builder, images, inner.index(FEATURE), groups, moves)
    node = _convolve_groups(builder, form, grouped, kernels, kernel, layout, groups * batches)
    return whole_tensor(op.result.element, op.result.shape, node)


@dataclass(frozen=True)
class _ConvolutionForm:
    """How images are read and products are accumulated."""

    moves: Sequence[WindowMove]
    inner: Sequence[int]
    """The labels of the image dimensions."""
    border: Node
    sum: Accumulation

    def convolve(self, builder: Builder, images: Node, kernels: Node, order: Sequence[int]) -> Node:
        """Compute a dot product for each element of the result, whose dimensions are in `order`."""
        seen = builder.map(lambda image: self._image_windows(builder, image), images, "image")
        current = [BATCH, *(each for each in self.inner if each != FEATURE)]
        moving = [each for each in order if each != FEATURE]
        depth = sum(each.role is not Role.POSITION for each in self.moves)
        offsets = range(len(current), len(current) + depth)
        seen = permute_dimensions(
            builder, seen, [*(current.index(each) for each in moving), *offsets]
        )

        def nest(level: int, seen: Node, kernel: Node) -> Node:
            if level == len(order):
                return contract_arrays(builder, depth, seen, kernel, self.sum)
            if order[level] == FEATURE:
                return builder.map(lambda each: nest(level + 1, seen, each), kernel, "kernel")
            return builder.map(lambda each: nest(level + 1, each, kernel), seen, "window")

        return builder.to_mem(nest(0, seen, kernels))

    def _image_windows(self, builder: Builder, image: Node) -> Node:
        """Return the windows of an image; its elements are read often, so the padding is stored."""
        whole = pad_for_windows(builder, image, self.moves, self.border)
        return window_views(builder, whole if whole is image else builder.to_mem(whole), self.moves)


def _window_moves(
    op: TypedOp, layout: Layout, inner: Sequence[int], image: Tensor, kernel: Tensor
) -> list[WindowMove]:
    """Return how the window moves along each image dimension."""
    rank = layout.spatial
    given = op.attributes.get("padding")
    padding = [(0, 0)] * rank if given is None else [(int(a), int(b)) for a, b in given]
    strides = op.integer_list("window_strides", [1] * rank)
    dilations = op.integer_list("rhs_dilation", [1] * rank)
    spreads = op.integer_list("lhs_dilation", [1] * rank)
    moves: list[WindowMove] = []
    for label in inner:
        size = kernel.shape[layout.kernel.index(label)]
        if label == FEATURE:
            moves.append(WindowMove(size, 1, is_whole=True))
            continue
        count = op.result.shape[layout.result.index(label)]
        moves.append(
            WindowMove(
                size, count, strides[label], dilations[label], spreads[label], padding[label]
            )
        )
    return moves


def _reverse_kernels(builder: Builder, op: TypedOp, kernels: Node, inner: Sequence[int]) -> Node:
    for label, is_reversed in enumerate(op.attributes.get("window_reversal") or ()):
        if is_reversed:
            kernels = builder.map_at(1 + inner.index(label), builder.reverse, kernels)
    return kernels


def _group_images(
    builder: Builder, images: Node, feature: int, groups: int, moves: Sequence[WindowMove]
) -> Node:
    """Split images into one array for each feature group."""
    size = moves[feature].size
    split = builder.map_at(1 + feature, lambda each: builder.split(size, groups, each), images)
    rank = 2 + len(moves)
    return permute_dimensions(
        builder, split, [1 + feature, *(k for k in range(rank) if k != 1 + feature)]
    )


def _convolve_groups(
    builder: Builder,
    form: _ConvolutionForm,
    images: Node,
    kernels: Node,
    kernel: Tensor,
    layout: Layout,
    groups: int,
) -> Node:
    """Convolve each group of images with its group of kernels."""
    each = kernel.shape[layout.kernel.index(BATCH)] // groups
    plain = [BATCH, FEATURE, *range(layout.spatial)]

    def one(pair: Node) -> Node:
        images, kernels = builder.unpack_tuple(pair, 2)
        return form.convolve(builder, images, kernels, plain)

    node = builder.map(one, builder.zip(images, builder.split(each, groups, kernels)), "group")
    # group, batch, feature, spatial -> batch, (group, feature), spatial
    node = builder.map(builder.join, builder.transpose(node))
    return permute_dimensions(builder, node, [plain.index(label) for label in layout.result])
