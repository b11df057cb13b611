"""Convolution: a dot product for each window and kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.stablehlo.ops.data_movement import regroup_array
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
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, keeps_order, lowers_op
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    arrange,
    broadcast_unit_dimensions,
    in_order,
    materialize,
    permute_dimensions,
    whole_tensor,
    zero_literal,
)
from riselang.frontends.term_builder import Builder, length_of, shape_of
from riselang.term.build import Node

BATCH, FEATURE = -1, -2
"""The labels of non-spatial dimensions; spatial ones are labeled by their numbers."""
MIN_FEATURES = 8
"""The minimum number of features that are computed in vectors."""


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


@keeps_order("stablehlo.convolution")
@lowers_op(
    "stablehlo.convolution",
    summary="`slide` in each dimension, `map`s over windows and kernels, and `reduce` over `zip`",
)
def _convolution(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    layout = read_layout(op.attributes["dimension_numbers"])
    kernel = in_order(builder, operands[1])
    if can_be_channels_last(op, layout, operands[0], kernel):
        return _convolve_channels_last(builder, op, layout, operands[0], kernel)
    image = in_order(builder, operands[0])
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


def can_be_channels_last(op: TypedOp, layout: Layout, image: Tensor, kernel: Tensor) -> bool:
    """Whether results are computed with the features last, in vectors of them.

    In groups of several features, those of a group are not next to each other.
    """
    groups = op.integer("feature_group_count", 1)
    features = kernel.shape[layout.kernel.index(BATCH)]
    is_depthwise = groups == features == image.shape[layout.image.index(FEATURE)]
    spatial = [dimension for dimension, label in enumerate(layout.image) if label >= 0]
    return (
        op.integer("batch_group_count", 1) == 1
        and (groups == 1 or is_depthwise)
        and features >= MIN_FEATURES
        and bool(spatial)
        and all(k in image.varying for k in (*spatial, layout.image.index(FEATURE)))
    )


def _convolve_channels_last(
    builder: Builder, op: TypedOp, layout: Layout, image: Tensor, kernel: Tensor
) -> Tensor:
    """Convolve images whose features are next to each other; so are those of the result.

    A batch of one image has no dimension for it.
    """
    batch = layout.image.index(BATCH)
    if image.shape[batch] == 1:
        image = broadcast_unit_dimensions(builder, image, [batch])
    elif batch not in image.varying:
        image = whole_tensor(image.element, image.shape, materialize(builder, image))
    inner = [*range(layout.spatial), FEATURE]
    labels = [*([BATCH] if batch in image.varying else []), *inner]
    is_depthwise = op.integer("feature_group_count", 1) > 1
    moves = _window_moves(op, layout, inner, image, kernel)
    if is_depthwise:
        moves[-1] = WindowMove(1, image.shape[layout.image.index(FEATURE)])
    kernels = _arrange_kernels(builder, op, layout, kernel, moves)
    images = _arrange_images(builder, image, [layout.image.index(each) for each in labels], moves)
    form = _ConvolutionForm(
        moves, inner, zero_literal(builder, image.element), Accumulation(builder, op.result.element)
    )
    node = form.convolve_channels_last(builder, images, kernels, len(labels) - len(inner))
    varying = tuple(layout.result.index(each) for each in labels)
    return Tensor(op.result.element, op.result.shape, varying, lambda: node)


def _arrange_kernels(
    builder: Builder, op: TypedOp, layout: Layout, kernel: Tensor, moves: Sequence[WindowMove]
) -> Node:
    """Return the kernels as `features.k.l.channels`, without the dimensions of length 1."""
    inner = [*range(layout.spatial), FEATURE]
    base = store_if_computed(builder, kernel)
    kept = [
        label for label, move in zip(inner, moves, strict=True) if move.role is not Role.POSITION
    ]
    labels = [label for label in layout.kernel if label == BATCH or label in kept]
    lengths = [kernel.shape[layout.kernel.index(label)] for label in labels]
    node = regroup_array(builder, base, kernel.shape, lengths)
    kernels = permute_dimensions(builder, node, [labels.index(each) for each in (BATCH, *kept)])
    kernels = _reverse_kernels(builder, op, kernels, kept)
    if FEATURE in kept:
        return kernels
    # Vectors of features are loaded from kernels whose features are next to each other.
    last = list(range(len(labels)))
    stored = builder.to_mem(permute_dimensions(builder, kernels, [*last[1:], 0]))
    return permute_dimensions(builder, stored, [last[-1], *last[:-1]])


def _arrange_images(
    builder: Builder, image: Tensor, order: Sequence[int], moves: Sequence[WindowMove]
) -> Node:
    """Return images with the features last, stored in this order unless padding stores them."""
    arranged = arrange(builder, image, order).make()
    is_padded = any(each.padding != (0, 0) or each.base_dilation > 1 for each in moves)
    if image.varying != tuple(order) and not is_padded:
        return builder.to_mem(arranged)
    return builder.store_if_computed(arranged)


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

    def convolve_channels_last(
        self, builder: Builder, images: Node, kernels: Node, batches: int
    ) -> Node:
        """Compute the dot products of each window with all kernels, or of each feature of a window
        with its kernel; `batches` is the number of dimensions of the batch."""
        seen = builder.map_at(batches, lambda image: self._image_windows(builder, image), images)
        positions = batches + sum(each.role is not Role.OFFSET for each in self.moves)
        depth = sum(each.role is not Role.POSITION for each in self.moves)
        if self.moves[-1].role is Role.POSITION:

            def weigh(pair: Node) -> Node:
                window, kernel = builder.unpack_tuple(pair, 2)
                return contract_arrays(builder, depth, window, kernel, self.sum)

            return builder.to_mem(
                builder.map_at(
                    positions - 1,
                    lambda window: builder.map(weigh, builder.zip(window, kernels)),
                    seen,
                )
            )

        def multiply(window: Node) -> Node:
            return builder.map(
                lambda kernel: contract_arrays(builder, depth, window, kernel, self.sum),
                kernels,
                "kernel",
            )

        if depth > 1:
            return builder.to_mem(builder.map_at(positions, multiply, seen))
        # The windows are elements, and thus rows of one matrix.
        lengths = shape_of(seen)[1:positions]
        for _ in lengths:
            seen = builder.join(seen)
        node = builder.to_mem(builder.map(multiply, seen))
        for length in reversed(lengths):
            node = builder.split(length, length_of(node) // length, node)
        return node

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
        if is_reversed and label in inner:
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
