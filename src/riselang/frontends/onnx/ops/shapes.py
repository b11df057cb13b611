"""Ops that rearrange elements, and those on shapes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import (
    add,
    common_shape,
    compare,
    convert,
    select,
    subtract,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import take, take_along_axis
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    broadcast_to,
    concatenate,
    expand_dims,
    iota,
    pad,
    reshape,
    reverse,
    slice_axis,
    transpose,
)
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


@converts("Shape", summary="a constant")
def _shape(node: Node) -> Value:
    shape = node[0].shape
    start, end = node.integer("start", 0), node.attributes.get("end")
    return node.graph.constant(np.array(shape[start:end], np.int64).reshape(-1))


@converts("Size", summary="a constant")
def _size(node: Node) -> Value:
    return node.graph.constant(np.int64(node[0].size))


@converts("Reshape", summary="`join` and `split`", keeps_small_types=True)
def _reshape(node: Node) -> Value:
    x, wanted = node[0], node.integers(1, "shape") or []
    if not node.integer("allowzero", 0):
        wanted = [
            x.shape[k] if length == 0 and k < x.rank else length for k, length in enumerate(wanted)
        ]
    if -1 in wanted:
        rest = prod(length for length in wanted if length != -1)
        wanted[wanted.index(-1)] = x.size // rest if rest else 0
    return reshape(x, wanted)


@converts("Flatten", summary="`join` and `split`", keeps_small_types=True)
def _flatten(node: Node) -> Value:
    x, axis = node[0], node.integer("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    if not 0 <= axis <= x.rank:
        raise LimitationError(f"the axis {axis} of a tensor of rank {x.rank} is invalid")
    return reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


@converts("Squeeze", summary="`join`", keeps_small_types=True)
def _squeeze(node: Node) -> Value:
    x, axes = node[0], node.integers(1, "axes")
    places = (
        [k for k, length in enumerate(x.shape) if length == 1]
        if axes is None
        else [x.axis(axis) for axis in axes]
    )
    for axis in places:
        if x.shape[axis] != 1:
            raise LimitationError(f"the dimension {axis} has the length {x.shape[axis]}, not 1")
    return reshape(x, [length for k, length in enumerate(x.shape) if k not in places])


@converts("Unsqueeze", summary="`split`", keeps_small_types=True)
def _unsqueeze(node: Node) -> Value:
    return expand_dims(node[0], node.integers(1, "axes") or [])


@converts("Transpose", summary="`transpose`", keeps_small_types=True)
def _transpose(node: Node) -> Value:
    x = node[0]
    order = node.attributes.get("perm") or range(x.rank)[::-1]
    return transpose(x, [int(each) for each in order])


@converts("Expand", summary="no code if elementwise ops read it", keeps_small_types=True)
def _expand(node: Node) -> Value:
    x, wanted = node[0], node.integers(1) or []
    shape = common_shape([x, node.graph.full(0, wanted, "i1")])
    return broadcast_to(x, shape)


@converts("Tile", summary="`generate` and `join`", keeps_small_types=True)
def _tile(node: Node) -> Value:
    x, counts = node[0], node.integers(1) or []
    return tile(x, counts)


def tile(x: Value, counts: list[int]) -> Value:
    if len(counts) != x.rank or any(count < 0 for count in counts):
        raise LimitationError(f"{counts} are not numbers of copies of {x.rank} dimensions")
    shape = [part for n, length in zip(counts, x.shape, strict=True) for part in (n, length)]
    grown = broadcast_in_dim(x, shape, range(1, 2 * x.rank, 2))
    return reshape(grown, [n * length for n, length in zip(counts, x.shape, strict=True)])


@converts("Concat", summary="`concat`", keeps_small_types=True)
def _concat(node: Node) -> Value:
    return concatenate(node.values, node[0].axis(node.integer("axis", 1)))


@converts("Split", summary="`take` and `drop`", keeps_small_types=True)
def _split(node: Node) -> list[Value]:
    x, axis = node[0], node[0].axis(node.integer("axis", 0))
    sizes = node.integers(1, "split")
    length, count = x.shape[axis], node.attributes.get("num_outputs") or len(node.outputs)
    if count < 1:
        raise LimitationError(f"there are no {count} parts")
    if count > max(length, len(node.outputs)):
        raise LimitationError(
            f"num_outputs is {count}, but the node has {len(node.outputs)} outputs, and axis "
            f"{axis} has {length} elements"
        )
    if sizes is None:
        size = -(-length // count)
        sizes = [max(0, min(size, length - k * size)) for k in range(count)]
    return split(x, axis, sizes)


def split(x: Value, axis: int, sizes: list[int]) -> list[Value]:
    if sum(sizes) != x.shape[axis] or any(size < 0 for size in sizes):
        raise LimitationError(f"the parts {sizes} are not {x.shape[axis]} elements")
    ends = np.cumsum(sizes).tolist()
    return [slice_axis(x, axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]


@converts("Slice", summary="`drop`, `take`, `slide` and `reverse`", keeps_small_types=True)
def _slice(node: Node) -> Value:
    x = node[0]
    starts, ends = node.integers(1, "starts") or [], node.integers(2, "ends") or []
    axes = node.integers(3, "axes") or list(range(len(starts)))
    steps = node.integers(4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise LimitationError(
            f"there are {len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} "
            "steps"
        )
    return slice_by(x, starts, ends, [x.axis(axis) for axis in axes], steps)


def slice_by(
    x: Value, starts: list[int], ends: list[int], axes: list[int], steps: list[int]
) -> Value:
    """Slice as Python does, with negative steps and indices, and those out of bounds."""
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if not step:
            raise LimitationError("a step is 0")
        found = range(
            *slice(start, end if step > 0 or end >= -(2**31) else None, step).indices(x.shape[axis])
        )
        if step < 0:
            x = reverse(x, [axis])
            length = x.shape[axis]
            found = range(length - 1 - found.start, length - 1 - found.stop, -step)
        first, count = (found.start, len(found)) if len(found) else (0, 0)
        last = first + (count - 1) * abs(step) + 1 if count else first
        x = slice_axis(x, axis, first, last, abs(step))
    return x


@converts("Pad", summary="`padConst`, or `at` of computed indices", keeps_small_types=True)
def _pad(node: Node) -> Value:
    x, pads = node[0], node.integers(1, "pads") or []
    axes = [x.axis(each) for each in node.integers(3) or range(x.rank)]
    if len(pads) != 2 * len(axes):
        raise LimitationError(f"there are {len(pads)} pads for {len(axes)} axes")
    low, high = [0] * x.rank, [0] * x.rank
    for k, axis in enumerate(axes):
        low[axis], high[axis] = pads[k], pads[len(axes) + k]
    mode = node.text("mode", "constant")
    if mode == "constant":
        value = node.optional(2)
        if value is None:
            value = node.graph.scalar(node.number("value", 0.0), x)
        return pad(x, reshape(value, ()), low, high)
    return pad_by_index(x, low, high, mode)


NUMPY_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def pad_by_index(x: Value, low: list[int], high: list[int], mode: str) -> Value:
    """Pad with elements of the tensor."""
    if mode not in NUMPY_MODES:
        raise LimitationError(f"the mode {mode!r} is not known")
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if not before and not after:
            continue
        length = x.shape[axis]
        widths = (max(before, 0), max(after, 0))
        places: Any = np.pad(np.arange(length), widths, mode=NUMPY_MODES[mode])  # type: ignore
        places = places[max(-before, 0) : len(places) - max(-after, 0)]
        x = take(x, x.graph.constant(places.astype(np.int64)), axis)
    return x


@converts("DepthToSpace", summary="`split`, `transpose` and `join`")
def _depth_to_space(node: Node) -> Value:
    x, size = node.tensor(0, rank=4), node.integer("blocksize")
    count, depth, height, width = x.shape
    if size < 1 or depth % (size * size):
        raise LimitationError(f"{depth} channels are not blocks of {size} x {size}")
    small = depth // (size * size)
    if node.text("mode", "DCR") == "DCR":
        parts = reshape(x, (count, size, size, small, height, width))
        parts = transpose(parts, (0, 3, 4, 1, 5, 2))
    else:
        parts = reshape(x, (count, small, size, size, height, width))
        parts = transpose(parts, (0, 1, 4, 2, 5, 3))
    return reshape(parts, (count, small, height * size, width * size))


@converts("SpaceToDepth", summary="`split`, `transpose` and `join`")
def _space_to_depth(node: Node) -> Value:
    x, size = node.tensor(0, rank=4), node.integer("blocksize")
    count, depth, height, width = x.shape
    if size < 1 or height % size or width % size:
        raise LimitationError(f"{height} x {width} elements are not blocks of {size} x {size}")
    parts = reshape(x, (count, depth, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if node.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return reshape(
        transpose(parts, order), (count, depth * size * size, height // size, width // size)
    )


@converts("Trilu", summary="an elementwise `map` of `generate`d indices")
def _trilu(node: Node) -> Value:
    x, offset = node.tensor(0, least=2), node.optional(1)
    rows = iota(node.graph, x.shape, x.rank - 2)
    columns = iota(node.graph, x.shape, x.rank - 1)
    limit = node.graph.full(0, (), "i64") if offset is None else reshape(offset, ())
    direction = "GE" if node.integer("upper", 1) else "LE"
    kept = compare(direction, columns, add(rows, limit))
    return (
        select(kept, x, 0)
        if not x.type.is_boolean
        else convert(select(kept, convert(x, "i8"), 0), "i1")
    )


@converts("ReverseSequence", summary="`at` of computed indices")
def _reverse_sequence(node: Node) -> Value:
    x, lengths = node.tensor(0, least=2), node.tensor(1, rank=1)
    batch, time = x.axis(node.integer("batch_axis", 1)), x.axis(node.integer("time_axis", 0))
    ends = broadcast_in_dim(lengths, x.shape, [batch])
    place = iota(node.graph, x.shape, time)
    flipped = subtract(subtract(ends, 1), place)
    places = select(compare("LT", place, ends), flipped, place)
    return take_along_axis(x, places, time)


@converts("CenterCropPad", summary="`take`, `drop` and `padConst`")
def _center_crop_pad(node: Node) -> Value:
    x, wanted = node[0], node.integers(1) or []
    axes = [x.axis(int(each)) for each in node.attributes.get("axes") or range(x.rank)]
    if len(wanted) != len(axes):
        raise LimitationError(f"there are {len(wanted)} lengths for {len(axes)} axes")
    low, high = [0] * x.rank, [0] * x.rank
    for axis, length in zip(axes, wanted, strict=True):
        more = length - x.shape[axis]
        before = more // 2 if more >= 0 else -((-more) // 2)
        low[axis], high[axis] = before, more - before
    return pad(x, node.graph.scalar(0, x), low, high)
