"""Windows of arrays of several dimensions, as views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from riselang.frontends.building import Builder
from riselang.frontends.stablehlo.layout import every, padded, permuted
from riselang.term.build import Node


@dataclass(frozen=True)
class Window:
    """Windows that move over an array that is padded and spread; one entry for each dimension."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    """How far apart the elements of a window are."""
    spreads: tuple[int, ...]
    """How far apart the elements of the array are put."""
    padding: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    """How many windows there are."""

    @property
    def overlaps(self) -> bool:
        """Whether an element may be in several windows."""
        parts = zip(self.sizes, self.strides, self.dilations, strict=True)
        return any((size - 1) * dilation >= stride for size, stride, dilation in parts)

    @property
    def is_trivial(self) -> bool:
        return all(size == 1 for size in self.sizes)


def windows(builder: Builder, xs: Node, window: Window, border: Node) -> Node:
    """`n.m.t` as positions and offsets: `n'.m'.k.l.t`."""
    rank = len(window.sizes)
    paddings = [
        (before, after, spread - 1)
        for (before, after), spread in zip(window.padding, window.spreads, strict=True)
    ]
    node = padded(builder, xs, border, paddings)
    for dimension in reversed(range(rank)):
        node = builder.map_at(dimension, _slider(builder, window, dimension), node)
        # The offsets go behind those of the dimensions before: n.m'.l -> n'.k.m'.l -> n'.m'.k.l
        deeper = rank - 1 - dimension
        order = [0, *range(2, 2 + deeper), 1, *range(2 + deeper, 2 + 2 * deeper)]
        node = builder.map_at(
            dimension, lambda each, order=order: permuted(builder, each, order), node
        )
    return node


def _slider(builder: Builder, window: Window, dimension: int) -> Callable[[Node], Node]:
    size, stride = window.sizes[dimension], window.strides[dimension]
    dilation, count = window.dilations[dimension], window.counts[dimension]
    span = (size - 1) * dilation + 1

    def slide(xs: Node) -> Node:
        needed = stride * (count - 1) + span
        found = builder.slide(count, span, stride, builder.take(needed, xs))
        if dilation == 1 or size == 1:
            return found
        return builder.map(lambda each: every(builder, each, 0, size, dilation), found)

    return slide
