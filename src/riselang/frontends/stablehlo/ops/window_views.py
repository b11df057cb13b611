"""Windows of multi-dimensional arrays, as views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from riselang.frontends.stablehlo.ops.data_movement import (
    pad_array,
    strided_slice,
)
from riselang.frontends.stablehlo.tensors import permute_dimensions
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node


class Role(Enum):
    """The role of a dimension in a window."""

    SLIDE = "a position of the window, and an offset in it"
    POSITION = "a position; the window has one element there"
    OFFSET = "an offset; the window has all elements"


@dataclass(frozen=True)
class WindowMove:
    """How a window moves along one dimension, which is dilated and padded first."""

    size: int
    count: int
    """The number of positions."""
    stride: int = 1
    dilation: int = 1
    """The distance between elements of a window."""
    base_dilation: int = 1
    """The base dilation: the distance at which array elements are placed."""
    padding: tuple[int, int] = (0, 0)
    is_whole: bool = False
    """Whether it covers the whole dimension, and thus has no position."""

    @property
    def role(self) -> Role:
        if self.is_whole:
            return Role.OFFSET
        return Role.POSITION if self.size == 1 else Role.SLIDE

    @property
    def overlaps(self) -> bool:
        """Whether an element may be in several windows."""
        return not self.is_whole and (self.size - 1) * self.dilation >= self.stride

    @property
    def span(self) -> int:
        return (self.size - 1) * self.dilation + 1


def pad_for_windows(builder: Builder, xs: Node, moves: Sequence[WindowMove], border: Node) -> Node:
    """Dilate and pad an array for its windows."""
    return pad_array(
        builder, xs, border, [(*each.padding, each.base_dilation - 1) for each in moves]
    )


def window_views(builder: Builder, xs: Node, moves: Sequence[WindowMove]) -> Node:
    """Return the windows of `n.m.t` as positions, then offsets: `n'.m'.k.l.t`, where present."""
    node = xs
    positions = offsets = 0
    for dimension in reversed(range(len(moves))):
        move = moves[dimension]
        inner = _InnerDimensions(positions, offsets)
        node = builder.map_at(dimension, _window_view(builder, move, inner), node)
        positions += move.role is not Role.OFFSET
        offsets += move.role is not Role.POSITION
    return node


@dataclass(frozen=True)
class _InnerDimensions:
    """The numbers of position and offset dimensions of the inner dimensions."""

    positions: int
    offsets: int

    @property
    def offset_order(self) -> list[int]:
        """The offset dimensions, after its own position and the inner positions."""
        return list(range(1 + self.positions, 1 + self.positions + self.offsets))


def _window_view(
    builder: Builder, move: WindowMove, inner: _InnerDimensions
) -> Callable[[Node], Node]:
    if move.role is Role.POSITION:
        return lambda xs: strided_slice(builder, xs, 0, move.count, move.stride)
    if move.role is Role.OFFSET:
        order = [*range(1, 1 + inner.positions), 0, *inner.offset_order]
        return lambda xs: permute_dimensions(builder, xs, order)
    behind = [0, *range(2, 2 + inner.positions), 1, *(each + 1 for each in inner.offset_order)]
    return lambda xs: permute_dimensions(builder, _slide_dimension(builder, move, xs), behind)


def _slide_dimension(builder: Builder, move: WindowMove, xs: Node) -> Node:
    needed = move.stride * (move.count - 1) + move.span
    found = builder.slide(move.count, move.span, move.stride, builder.take(needed, xs))
    if move.dilation == 1:
        return found
    return builder.map(
        lambda each: strided_slice(builder, each, 0, move.size, move.dilation), found
    )
