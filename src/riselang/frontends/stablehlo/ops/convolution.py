"""Convolution: a dot product for each window and kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.building import Builder
from riselang.frontends.stablehlo.ops.data_movement import permuted
from riselang.frontends.stablehlo.ops.dot_general import Summing, stored, summed
from riselang.frontends.stablehlo.ops.window_views import Role, Window, bordered, windows
from riselang.frontends.stablehlo.registry import Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, whole, zero
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


def layout_of(numbers: Mapping[str, Any]) -> Layout:
    def labels(batch: str, feature: str, spatial: str) -> list[int]:
        found = {numbers[batch]: BATCH, numbers[feature]: FEATURE}
        found |= {place: k for k, place in enumerate(numbers[spatial])}
        return [found[k] for k in range(len(found))]

    return Layout(
        labels("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
        labels("kernel_output_feature_dimension", "kernel_input_feature_dimension",
               "kernel_spatial_dimensions"),
        labels("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
    )  # fmt: skip


@lowers(
    "stablehlo.convolution",
    summary="`slide` in each dimension; `map` over windows and kernels, `reduce` over `zip`",
)
def _convolution(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    image, kernel = operands
    layout = layout_of(op.attributes["dimension_numbers"])
    # The features and offsets of a window are in the order of the image.
    inner = [label for label in layout.image if label != BATCH]
    images = permuted(
        builder, stored(builder, image), [layout.image.index(each) for each in (BATCH, *inner)]
    )
    kernels = permuted(
        builder, stored(builder, kernel), [layout.kernel.index(each) for each in (BATCH, *inner)]
    )
    kernels = _reversed(builder, op, kernels, inner)
    moves = _moves(op, layout, inner, image, kernel)
    # If windows have one element, so have kernels.
    for depth in reversed([k for k, each in enumerate(moves) if each.role is Role.POSITION]):
        kernels = builder.map_at(1 + depth, builder.first, kernels)
    sum = Summing(builder, image.element, kernel.element, op.result.element)
    form = _Form(moves, inner, zero(builder, image.element), sum)
    groups = op.integer("feature_group_count", 1)
    batches = op.integer("batch_group_count", 1)
    if groups == batches == 1:
        node = form.convolved(builder, images, kernels, layout.result)
        return whole(op.result.element, op.result.shape, node)
    if batches > 1:
        count = image.shape[layout.image.index(BATCH)] // batches
        grouped = builder.split(count, batches, images)
    else:
        grouped = _grouped(builder, images, inner.index(FEATURE), groups, moves)
    node = _convolved_groups(builder, form, grouped, kernels, kernel, layout, groups * batches)
    return whole(op.result.element, op.result.shape, node)


@dataclass(frozen=True)
class _Form:
    """How images are read and products are accumulated."""

    moves: Sequence[Window]
    inner: Sequence[int]
    """The labels of the image dimensions."""
    border: Node
    sum: Summing

    def convolved(
        self, builder: Builder, images: Node, kernels: Node, order: Sequence[int]
    ) -> Node:
        """Compute a dot product for each element of the result, whose dimensions are in `order`."""
        seen = builder.map(lambda image: self._windows(builder, image), images, "image")
        current = [BATCH, *(each for each in self.inner if each != FEATURE)]
        moving = [each for each in order if each != FEATURE]
        depth = sum(each.role is not Role.POSITION for each in self.moves)
        offsets = range(len(current), len(current) + depth)
        seen = permuted(builder, seen, [*(current.index(each) for each in moving), *offsets])

        def nest(level: int, seen: Node, kernel: Node) -> Node:
            if level == len(order):
                return summed(builder, depth, seen, kernel, self.sum)
            if order[level] == FEATURE:
                return builder.map(lambda each: nest(level + 1, seen, each), kernel, "kernel")
            return builder.map(lambda each: nest(level + 1, each, kernel), seen, "window")

        return builder.to_mem(nest(0, seen, kernels))

    def _windows(self, builder: Builder, image: Node) -> Node:
        """Return the windows of an image; its elements are read often, so the padding is stored."""
        whole = bordered(builder, image, self.moves, self.border)
        return windows(builder, whole if whole is image else builder.to_mem(whole), self.moves)


def _moves(
    op: Op, layout: Layout, inner: Sequence[int], image: Tensor, kernel: Tensor
) -> list[Window]:
    """Return how the window moves along each image dimension."""
    rank = layout.spatial
    given = op.attributes.get("padding")
    padding = [(0, 0)] * rank if given is None else [(int(a), int(b)) for a, b in given]
    strides = op.integers("window_strides", [1] * rank)
    dilations = op.integers("rhs_dilation", [1] * rank)
    spreads = op.integers("lhs_dilation", [1] * rank)
    moves: list[Window] = []
    for label in inner:
        size = kernel.shape[layout.kernel.index(label)]
        if label == FEATURE:
            moves.append(Window(size, 1, is_whole=True))
            continue
        count = op.result.shape[layout.result.index(label)]
        moves.append(
            Window(size, count, strides[label], dilations[label], spreads[label], padding[label])
        )
    return moves


def _reversed(builder: Builder, op: Op, kernels: Node, inner: Sequence[int]) -> Node:
    for label, is_reversed in enumerate(op.attributes.get("window_reversal") or ()):
        if is_reversed:
            kernels = builder.map_at(1 + inner.index(label), builder.reverse, kernels)
    return kernels


def _grouped(
    builder: Builder, images: Node, feature: int, groups: int, moves: Sequence[Window]
) -> Node:
    """Split images into one array for each feature group."""
    size = moves[feature].size
    split = builder.map_at(1 + feature, lambda each: builder.split(size, groups, each), images)
    rank = 2 + len(moves)
    return permuted(builder, split, [1 + feature, *(k for k in range(rank) if k != 1 + feature)])


def _convolved_groups(
    builder: Builder,
    form: _Form,
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
        images, kernels = builder.parts(pair, 2)
        return form.convolved(builder, images, kernels, plain)

    node = builder.map(one, builder.zip(images, builder.split(each, groups, kernels)), "group")
    # group, batch, feature, spatial -> batch, (group, feature), spatial
    node = builder.map(builder.join, builder.transpose(node))
    return permuted(builder, node, [plain.index(label) for label in layout.result])
