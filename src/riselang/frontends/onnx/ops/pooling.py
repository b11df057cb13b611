"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from riselang.frontends.onnx.ops.convolution_windows import Pads, integers, padding
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    convert,
    divide,
    multiply,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import scatter_nd, take, take_along_axis
from riselang.frontends.onnx.primitives.reductions import (
    index_of_extreme,
    mean_of,
    neutral_element,
    reduce,
    reduce_window,
    sum_of,
)
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_to,
    expand_dims,
    move_axis,
    pad,
    reshape,
)
from riselang.frontends.onnx.registry import Node, converts

WINDOWS = "`slide` in each dimension, then `reduce` over each window"


class Windows:
    """The windows of a pooling op."""

    def __init__(self, node: Node, x: Value):
        rank = x.rank - 2
        self.lengths = x.shape[2:]
        self.kernel = integers(node, "kernel_shape", rank)
        self.strides = integers(node, "strides", rank)
        self.dilations = integers(node, "dilations", rank)
        self.pads = padding(node, self.lengths, self.kernel, self.strides, self.dilations)
        self.ceil = bool(node.integer("ceil_mode", 0))
        self.counts: list[int] = []
        self.all_pads: Pads = []
        """The padding, and more at the end if windows may begin before it."""
        for length, size, stride, dilation, (before, after) in zip(
            self.lengths, self.kernel, self.strides, self.dilations, self.pads, strict=True
        ):
            reach = (size - 1) * dilation + 1
            room = length + before + after - reach
            count = (-(-room // stride) if self.ceil else room // stride) + 1
            if self.ceil and (count - 1) * stride >= length + before:
                count -= 1
            self.counts.append(count)
            end = (count - 1) * stride + reach
            self.all_pads.append((before, end - length - before))

    def reduce(self, name: str, x: Value) -> Value:
        start = neutral_element(name, x)
        low = [0, 0, *(before for before, _ in self.all_pads)]
        high = [0, 0, *(after for _, after in self.all_pads)]
        trimmed = pad(x, start, [min(n, 0) for n in low], [min(n, 0) for n in high])
        pads = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
        ones = [1, 1]
        return reduce_window(
            name, trimmed,
            ([*ones, *self.kernel], [*ones, *self.strides], [*ones, *self.dilations], pads),
        )  # fmt: skip

    def places(self, axis: int) -> np.ndarray:
        """Return the index of each element of each window in a dimension, which may be outside."""
        starts = np.arange(self.counts[axis]) * self.strides[axis] - self.pads[axis][0]
        return starts[:, None] + np.arange(self.kernel[axis])[None, :] * self.dilations[axis]

    def counted(self, include_pads: bool) -> np.ndarray:
        """Return the number of elements in each window, with or without the padding."""
        found = np.ones(())
        for axis, length in enumerate(self.lengths):
            places = self.places(axis)
            before, after = self.pads[axis] if include_pads else (0, 0)
            inside = ((places >= -before) & (places < length + after)).sum(1)
            found = np.multiply.outer(found, inside)
        return found


@converts("AveragePool", summary=WINDOWS)
def _average_pool(node: Node) -> Value:
    x = node.tensor(0, least=3)
    windows = Windows(node, x)
    total = windows.reduce("add", convert(x, "f32") if x.type.is_half else x)
    counts = windows.counted(bool(node.integer("count_include_pad", 0)))
    number = node.graph.constant(counts, total.element)
    same = counts.reshape(-1)[:1]
    if np.all(counts == same):
        number = node.graph.scalar(float(same[0]), total)
    return convert(divide(total, number), x.element)


@converts("LpPool", summary=WINDOWS)
def _lp_pool(node: Node) -> Value:
    x, order = node.tensor(0, least=3), node.integer("p", 2)
    powers = _power(unary("abs", x), order)
    return _root(Windows(node, x).reduce("add", powers), order)


def _power(x: Value, order: int) -> Value:
    if order == 1:
        return x
    return multiply(x, x) if order == 2 else binary("power", x, order)


def _root(x: Value, order: int) -> Value:
    if order == 1:
        return x
    return unary("sqrt", x) if order == 2 else binary("power", x, 1 / order)


def window_elements(x: Value, windows: Windows) -> tuple[Value, Value]:
    """Return the elements of each window in a new last dimension, and their flat indices."""
    graph, rank = x.graph, x.rank - 2
    start = neutral_element("maximum", x)
    low = [0, 0, *(max(before, 0) for before, _ in windows.all_pads)]
    high = [0, 0, *(max(after, 0) for _, after in windows.all_pads)]
    parts = pad(x, start, low, high)
    flat = np.zeros((1,) * (2 * rank), np.int64)
    outside = np.zeros((1,) * (2 * rank), bool)
    for axis in range(rank):
        places = windows.places(axis)
        parts = take(parts, graph.constant(places.reshape(-1) + low[2 + axis]), 2 + axis)
        ones = [1] * (2 * rank)
        ones[2 * axis : 2 * axis + 2] = places.shape
        stride = prod(windows.lengths[axis + 1 :])
        flat = flat + places.reshape(ones) * stride
        outside = outside | ((places < 0) | (places >= windows.lengths[axis])).reshape(ones)
    split = [n for pair in zip(windows.counts, windows.kernel, strict=True) for n in pair]
    order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]
    flat = np.where(outside, -1, flat).transpose(order).reshape(*windows.counts, -1)
    parts = reshape(parts, (*x.shape[:2], *split))
    for number in range(rank):
        parts = move_axis(parts, 2 + number + 1, parts.rank - 1)
    return reshape(parts, (*x.shape[:2], *windows.counts, prod(windows.kernel))), graph.constant(
        flat
    )


@converts("MaxPool", summary=WINDOWS)
def _max_pool(node: Node) -> list[Value]:
    x = node.tensor(0, least=3)
    windows = Windows(node, x)
    results = [windows.reduce("maximum", x)]
    if not node.has_output(1):
        return results
    elements, flat = window_elements(x, windows)
    chosen = index_of_extreme(elements, elements.rank - 1, is_greatest=True)
    places = broadcast_to(flat, elements.shape)
    indices = take_along_axis(places, expand_dims(chosen, [chosen.rank]), places.rank - 1)
    indices = reshape(indices, results[0].shape)
    if node.integer("storage_order", 0):
        indices = _column_major(indices, windows.lengths)
    offsets = np.arange(prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * (x.rank - 2))
    return [*results, add(indices, node.graph.constant(offsets * prod(x.shape[2:])))]


def _column_major(flat: Value, lengths: Sequence[int]) -> Value:
    """Convert row-major indices to column-major ones."""
    found, stride = None, 1
    row_stride = [prod(lengths[k + 1 :]) for k in range(len(lengths))]
    for axis, length in enumerate(lengths):
        place = binary("remainder", divide(flat, row_stride[axis]), length)
        part = multiply(place, stride)
        found = part if found is None else add(found, part)
        stride *= length
    assert found is not None
    return found


@converts("MaxUnpool", summary="`scatter`")
def _max_unpool(node: Node) -> Value:
    x, indices, rank = node.tensor(0, least=3), node[1], node[0].rank - 2
    strides = integers(node, "strides", rank)
    kernel = [int(each) for each in node.attributes["kernel_shape"]]
    pads = integers(node, "pads", 2 * rank, 0)
    lengths = [
        (n - 1) * s - pads[k] - pads[rank + k] + size
        for k, (n, s, size) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    natural = (*x.shape[:2], *lengths)
    shape = tuple(node.integers(2) or natural)
    if shape != natural:
        # The indices are those of the smaller tensor.
        indices = _moved_indices(indices, natural, shape)
    empty = node.graph.full(0, (prod(shape),), x.element)
    flat = scatter_nd(empty, reshape(indices, (indices.size, 1)), reshape(x, (x.size,)))
    return reshape(flat, shape)


def _moved_indices(flat: Value, old: Sequence[int], new: Sequence[int]) -> Value:
    found = None
    for axis, length in enumerate(old):
        place = binary("remainder", divide(flat, prod(old[axis + 1 :])), length)
        part = multiply(place, prod(new[axis + 1 :]))
        found = part if found is None else add(found, part)
    assert found is not None
    return found


@converts("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", summary="`reduce`")
def _global_pool(node: Node) -> Value:
    x = node.tensor(0, least=2)
    axes = range(2, x.rank)
    if node.op == "GlobalAveragePool":
        return mean_of(x, list(axes), keepdims=True)
    if node.op == "GlobalMaxPool":
        return reduce("maximum", x, list(axes), keepdims=True)
    order = node.integer("p", 2)
    return _root(sum_of(_power(unary("abs", x), order), list(axes), keepdims=True), order)
