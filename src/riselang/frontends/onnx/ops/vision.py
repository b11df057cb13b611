"""Ops on images: sampling at coordinates, regions of interest, and columns of windows."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from riselang.frontends.onnx.ops.convolution_windows import add_bias, integers
from riselang.frontends.onnx.primitives.contractions import dot_general
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    both,
    compare,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    select,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import gather_nd, scatter_nd
from riselang.frontends.onnx.primitives.reductions import mean_of, reduce
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    index_axis,
    iota,
    reshape,
    slice_axis,
    stack,
    transpose,
)
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

SAMPLING = "`at` of computed indices"


def pixel(images: Value, lead: list[Value], places: list[Value]) -> Value:
    """Return the channels of an image at integer coordinates, which are clamped to it.

    `images` is N, D1, ..., C; all indices have one shape.
    """
    lengths = images.shape[len(lead) : len(lead) + len(places)]
    indices = [
        minimum(maximum(each, 0), length - 1) for each, length in zip(places, lengths, strict=True)
    ]
    vectors = stack([*lead, *indices], indices[0].rank)
    return gather_nd(images, vectors)


def _inside(places: list[Value], lengths: Any) -> Value:
    found: Value | None = None
    for each, length in zip(places, lengths, strict=True):
        fits = both(compare("GE", each, 0), compare("LT", each, length))
        found = fits if found is None else both(found, fits)
    assert found is not None
    return found


class GridSampler:
    """Reads images at float coordinates."""

    def __init__(self, node: Node, x: Value, lead: Value):
        self.rank = x.rank - 2
        self.images = transpose(x, (0, *range(2, x.rank), 1))
        self.lead = lead
        self.lengths = x.shape[2:]
        self.padding = node.text("padding_mode", "zeros")
        self.align = bool(node.integer("align_corners", 0))

    def unnormalize(self, x: Value, length: int) -> Value:
        if self.align:
            return multiply(add(x, 1), (length - 1) / 2)
        return divide(subtract(multiply(add(x, 1), length), 1), 2)

    def reflect(self, x: Value, length: int) -> Value:
        low, high = (0.0, length - 1.0) if self.align else (-0.5, length - 0.5)
        span = high - low
        if span == 0:
            return multiply(x, 0)
        distance = unary("abs", subtract(x, low))
        turns = unary("floor", divide(distance, span))
        rest = subtract(distance, multiply(turns, span))
        is_odd = compare("NE", binary("remainder", turns, 2.0), 0)
        return select(is_odd, subtract(high, rest), add(rest, low))

    def bounded(self, x: Value, length: int) -> Value:
        """Move coordinates into the image, by the padding mode."""
        if self.padding == "border":
            return minimum(maximum(x, 0), length - 1)
        if self.padding == "reflection":
            return minimum(maximum(self.reflect(x, length), 0), length - 1)
        return x

    def at(self, places: list[Value]) -> Value:
        """Read at integral coordinates, given as floats."""
        moved = [self.bounded(each, n) for each, n in zip(places, self.lengths, strict=True)]
        whole = [convert(each, "i64") for each in moved]
        found = pixel(self.images, [self.lead], whole)
        if self.padding != "zeros":
            return found
        inside = _inside(whole, self.lengths)
        return select(broadcast_in_dim(inside, found.shape, range(inside.rank)), found, 0)

    def blend(self, places: list[Value], weights: Any, offsets: Any) -> Value:
        """Sum the elements around, each times the product of its weights in each dimension."""
        total: Value | None = None
        for corner in np.ndindex(*(len(offsets) for _ in places)):
            at = [
                add(unary("floor", p), float(offsets[k]))
                for p, k in zip(places, corner, strict=True)
            ]
            factor: Value | None = None
            for dimension, k in enumerate(corner):
                weight = weights[dimension][k]
                factor = weight if factor is None else multiply(factor, weight)
            assert factor is not None
            read = self.at(at)
            grown = broadcast_in_dim(factor, read.shape, range(factor.rank))
            part = multiply(read, grown)
            total = part if total is None else add(total, part)
        assert total is not None
        return total


def _cubic_weights(t: Value, a: float) -> list[Value]:
    def near(x: Value) -> Value:
        inner = subtract(multiply(x, a + 2), a + 3)
        return add(multiply(multiply(inner, x), x), 1)

    def far(x: Value) -> Value:
        inner = add(multiply(subtract(multiply(x, a), 5 * a), x), 8 * a)
        return subtract(multiply(inner, x), 4 * a)

    return [far(add(t, 1)), near(t), near(subtract(1, t)), far(subtract(2, t))]


@converts("GridSample", summary=SAMPLING)
def _grid_sample(node: Node) -> Value:
    x, grid = node[0], node[1]
    element = x.element
    x, grid = (convert(each, "f32") if each.type.is_half else each for each in (x, grid))
    mode = node.text("mode", "linear")
    shape = grid.shape[:-1]
    lead = iota(node.graph, shape, 0)
    sampler = GridSampler(node, x, lead)
    rank = sampler.rank
    # The last coordinate of the grid is that of the first spatial dimension.
    places = [
        sampler.unnormalize(index_axis(grid, grid.rank - 1, rank - 1 - k), sampler.lengths[k])
        for k in range(rank)
    ]
    if mode == "nearest":
        found = sampler.at([unary("round_nearest_even", each) for each in places])
    elif mode in ("linear", "bilinear"):
        places = [sampler.bounded(p, n) for p, n in zip(places, sampler.lengths, strict=True)]
        parts = [subtract(each, unary("floor", each)) for each in places]
        found = sampler.blend(places, [[subtract(1, t), t] for t in parts], (0, 1))
    elif mode in ("cubic", "bicubic"):
        parts = [subtract(each, unary("floor", each)) for each in places]
        found = sampler.blend(places, [_cubic_weights(t, -0.75) for t in parts], (-1, 0, 1, 2))
    else:
        raise LimitationError(f"the mode {mode!r} is not known")
    return convert(transpose(found, (0, found.rank - 1, *range(1, found.rank - 1))), element)


@converts("RoiAlign", summary=SAMPLING)
def _roi_align(node: Node) -> Value:
    x, boxes, batches = node[0], node[1], node[2]
    graph, element = node.graph, x.element
    height, width = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.number("spatial_scale", 1.0)
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    is_half = node.text("coordinate_transformation_mode", default) == "half_pixel"
    count = boxes.shape[0]
    corners = [
        subtract(multiply(index_axis(boxes, 1, k), scale), 0.5 if is_half else 0.0)
        for k in range(4)
    ]
    sizes = [subtract(corners[3], corners[1]), subtract(corners[2], corners[0])]
    if not is_half:
        sizes = [maximum(each, 1.0) for each in sizes]
    bins = [divide(sizes[0], height), divide(sizes[1], width)]
    if ratio <= 0:
        known = [np.ceil(each.known()).astype(int) for each in bins]
        if any(each.min() != each.max() for each in known):
            raise LimitationError("boxes of different sizes need a sampling_ratio")
        samples = [max(int(each.max()), 1) for each in known]
    else:
        samples = [ratio, ratio]
    shape = (count, height, samples[0], width, samples[1])

    def spread(v: Value) -> Value:
        return broadcast_in_dim(v, shape, [0])

    def coordinate(start: Value, size: Value, number: int, axis: int) -> Value:
        cell = iota(graph, shape, axis, element)
        part = divide(add(iota(graph, shape, axis + 1, element), 0.5), number)
        return add(spread(start), multiply(add(cell, part), spread(size)))

    ys = coordinate(corners[1], bins[0], samples[0], 1)
    xs = coordinate(corners[0], bins[1], samples[1], 3)
    lead = spread(convert(batches, "i64"))
    images = transpose(x, (0, 2, 3, 1))
    rows, columns = x.shape[2], x.shape[3]
    near = both(
        both(compare("GE", ys, -1.0), compare("LE", ys, rows)),
        both(compare("GE", xs, -1.0), compare("LE", xs, columns)),
    )
    ys, xs = (minimum(maximum(v, 0), n - 1) for v, n in ((ys, rows), (xs, columns)))
    y0, x0 = unary("floor", ys), unary("floor", xs)
    dy, dx = subtract(ys, y0), subtract(xs, x0)
    parts: list[Value] = []
    for low_y in (1, 0):
        for low_x in (1, 0):
            at = [convert(add(y0, 1 - low_y), "i64"), convert(add(x0, 1 - low_x), "i64")]
            weight = multiply(subtract(1, dy) if low_y else dy, subtract(1, dx) if low_x else dx)
            read = pixel(images, [lead], at)
            inside = broadcast_in_dim(near, read.shape, range(5))
            parts.append(
                select(inside, multiply(read, broadcast_in_dim(weight, read.shape, range(5))), 0)
            )
    if node.text("mode", "avg") == "avg":
        total = add(add(parts[0], parts[1]), add(parts[2], parts[3]))
        found = mean_of(total, [2, 4])
    else:
        greatest = maximum(maximum(parts[0], parts[1]), maximum(parts[2], parts[3]))
        found = reduce("maximum", greatest, [2, 4])
    return transpose(found, (0, 3, 1, 2))


@converts("Col2Im", summary="`scatterWith`")
def _col2im(node: Node) -> Value:
    """Add columns of blocks at the indices that they come from."""
    x, lengths, block = node[0], node.integers(1) or [], node.integers(2) or []
    rank = len(lengths)
    dilations, strides = integers(node, "dilations", rank), integers(node, "strides", rank)
    pads = integers(node, "pads", 2 * rank, 0)
    count, channels = x.shape[0], x.shape[1] // prod(block)
    padded = [n + pads[k] + pads[rank + k] for k, n in enumerate(lengths)]
    counts = [
        (n - dilations[k] * (block[k] - 1) - 1) // strides[k] + 1 for k, n in enumerate(padded)
    ]
    flat = np.zeros((1,) * (2 * rank), np.int64)
    for k in range(rank):
        place = (
            np.arange(block[k])[:, None] * dilations[k] + np.arange(counts[k])[None, :] * strides[k]
        )
        ones = [1] * (2 * rank)
        ones[k], ones[rank + k] = block[k], counts[k]
        flat = flat + place.reshape(ones) * prod(padded[k + 1 :])
    rows = transpose(reshape(x, (count * channels, prod(block) * prod(counts))), (1, 0))
    empty = node.graph.full(0, (prod(padded), count * channels), x.element)
    vectors = node.graph.constant(flat.reshape(-1, 1))
    total = transpose(scatter_nd(empty, vectors, rows, "add"), (1, 0))
    found = reshape(total, (count, channels, *padded))
    for k in range(rank):
        found = slice_axis(found, 2 + k, pads[k], pads[k] + lengths[k])
    return found


@converts("DeformConv", summary="`at` of computed indices, and contractions")
def _deform_conv(node: Node) -> Value:
    x, kernels, offsets, bias, mask = node[0], node[1], node[2], node.optional(3), node.optional(4)
    if x.rank != 4:
        raise LimitationError("only images of two dimensions are supported")
    graph = node.graph
    groups, parts = node.integer("group", 1), node.integer("offset_group", 1)
    strides, dilations = integers(node, "strides", 2), integers(node, "dilations", 2)
    pads = integers(node, "pads", 4, 0)
    count, channels, rows, columns = x.shape
    size = kernels.shape[2:]
    high, wide = offsets.shape[2:]
    shape = (count, parts, size[0] * size[1], high, wide)
    moves = reshape(offsets, (count, parts, size[0] * size[1], 2, high, wide))
    places: list[Value] = []
    for k, axis in enumerate((3, 4)):
        tap = np.arange(size[0] * size[1])
        tap = tap // size[1] if k == 0 else tap % size[1]
        start = broadcast_in_dim(
            graph.constant(tap * float(dilations[k]) - pads[k], x.element), shape, [2]
        )
        step = multiply(iota(graph, shape, axis, x.element), float(strides[k]))
        places.append(add(add(start, step), index_axis(moves, 3, k)))
    images = transpose(
        reshape(x, (count, parts, channels // parts, rows, columns)), (0, 1, 3, 4, 2)
    )
    lead = [iota(graph, shape, 0), iota(graph, shape, 1)]
    floors = [unary("floor", each) for each in places]
    rests = [subtract(a, b) for a, b in zip(places, floors, strict=True)]
    total: Value | None = None
    for corner in np.ndindex(2, 2):
        at = [convert(add(f, float(k)), "i64") for f, k in zip(floors, corner, strict=True)]
        weight = multiply(*(r if k else subtract(1, r) for r, k in zip(rests, corner, strict=True)))
        weight = select(_inside(at, (rows, columns)), weight, 0)
        read = pixel(images, lead, at)
        part = multiply(read, broadcast_in_dim(weight, read.shape, range(5)))
        total = part if total is None else add(total, part)
    assert total is not None
    if mask is not None:
        total = multiply(total, broadcast_in_dim(reshape(mask, shape), total.shape, range(5)))
    # N, parts, taps, H, W, C / parts -> N, groups, C / groups, taps, H, W
    total = reshape(
        transpose(total, (0, 1, 5, 2, 3, 4)),
        (count, groups, channels // groups, size[0] * size[1], high, wide),
    )
    weights = reshape(
        kernels, (groups, kernels.shape[0] // groups, channels // groups, size[0] * size[1])
    )
    found = dot_general(weights, total, ((0,), (1,)), ((2, 3), (2, 3)))
    found = transpose(found, (2, 0, 1, 3, 4))
    return add_bias(reshape(found, (count, kernels.shape[0], high, wide)), bias)
