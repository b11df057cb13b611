"""Resize and Upsample: along each axis, the product with a matrix of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.frontends.onnx.ops.quantized import saturate
from riselang.frontends.onnx.primitives.contractions import multiply_axis
from riselang.frontends.onnx.primitives.elementwise import convert, select, unary
from riselang.frontends.onnx.primitives.graph import Array, Value
from riselang.frontends.onnx.primitives.indexing import take
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


def _source_places(
    count: int, length: int, scale: float, mode: str, region: tuple[float, float]
) -> Array:
    """Return the coordinate in the source of each element of the result."""
    x = np.arange(count, dtype=np.float64)
    wanted = length * scale
    if mode == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = count / wanted
        center = length / 2
        return center * (1 - adjustment) + (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if wanted > 1 else np.zeros_like(x)
    if mode == "align_corners":
        return x * (length - 1) / (wanted - 1) if wanted != 1 else np.zeros_like(x)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "tf_crop_and_resize":
        first, last = region
        if wanted == 1:
            return np.full_like(x, 0.5 * (first + last) * (length - 1))
        return first * (length - 1) + x * (last - first) * (length - 1) / (wanted - 1)
    raise LimitationError(f"the coordinate transformation {mode!r} is not known")


def _nearest(places: Array, mode: str) -> Array:
    if mode == "round_prefer_floor":
        return np.ceil(places - 0.5)
    if mode == "round_prefer_ceil":
        return np.floor(places + 0.5)
    return np.floor(places) if mode == "floor" else np.ceil(places)


def _linear_weight(distance: Array) -> Array:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic_weight(distance: Array, a: float) -> Array:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _weights(node: Node, places: Array, length: int, scale: float, mode: str) -> Array:
    """Return the matrix of the weights of the source elements."""
    shrink = min(scale, 1.0) if node.integer("antialias", 0) else 1.0
    reach = (2 if mode == "cubic" else 1) / shrink
    a = node.number("cubic_coeff_a", -0.75)
    first = np.floor(places - reach).astype(np.int64)
    offsets = np.arange(int(np.ceil(2 * reach)) + 3)
    at = first[:, None] + offsets[None, :]
    distance = (at - places[:, None]) * shrink
    weight = _cubic_weight(distance, a) if mode == "cubic" else _linear_weight(distance)
    if node.integer("exclude_outside", 0):
        weight = np.where((at < 0) | (at >= length), 0.0, weight)
    if node.integer("exclude_outside", 0) or shrink != 1:
        weight = weight / weight.sum(1, keepdims=True)
    matrix = np.zeros((len(places), length))
    rows = np.broadcast_to(np.arange(len(places))[:, None], at.shape)
    np.add.at(matrix, (rows, np.clip(at, 0, length - 1)), weight)
    return matrix


@converts("Resize", "Upsample", summary="`at`, or a contraction along each axis")
def _resize(node: Node) -> Value:
    x = node[0]
    mode = node.text("mode", "nearest")
    axes = [x.axis(int(each)) for each in node.attributes.get("axes") or range(x.rank)]
    scales, sizes, region = _extents(node, x, axes)
    transformation = node.text(
        "coordinate_transformation_mode",
        "half_pixel" if node.op == "Resize" and node.version >= 11 else "asymmetric",
    )
    default = "round_prefer_floor" if node.op == "Resize" and node.version >= 11 else "floor"
    rounding = node.text("nearest_mode", default)
    element = x.element
    outside: list[tuple[int, Array]] = []
    if mode != "nearest":
        x = convert(x, "f64" if element == "f64" else "f32")
    for number, axis in enumerate(axes):
        count, scale, length = sizes[number], scales[number], x.shape[axis]
        if count == length and scale == 1 and transformation != "tf_crop_and_resize":
            continue
        places = _source_places(count, length, scale, transformation, region[number])
        if transformation == "tf_crop_and_resize":
            outside.append((axis, (places < 0) | (places > length - 1)))
        if mode == "nearest":
            near = np.clip(_nearest(places, rounding), 0, length - 1).astype(np.int64)
            x = take(x, node.graph.constant(near), axis)
        elif mode in ("linear", "cubic"):
            matrix = _weights(node, places, length, scale, mode)
            x = multiply_axis(x, axis, node.graph.constant(matrix, x.element))
        else:
            raise LimitationError(f"the mode {mode!r} is not known")
    for axis, gone in outside:
        x = _extrapolated(node, x, axis, gone)
    if element != x.element and x.type.is_float and not node[0].type.is_float:
        return saturate(unary("round_nearest_even", x), element)
    return convert(x, element)


def _extrapolated(node: Node, x: Value, axis: int, gone: Array) -> Value:
    if not gone.any():
        return x
    mask = broadcast_in_dim(node.graph.constant(gone), x.shape, [axis])
    return select(mask, node.number("extrapolation_value", 0.0), x)


def _check_vector(name: str, values: Any, count: int) -> None:
    """Raise an error unless a known operand, if there is one, is a vector of finite numbers."""
    if values is None or not np.size(values):
        return
    shape = np.shape(values)
    if shape != (count,):
        raise LimitationError(f"{name} must be a vector of {count}, but its shape is {shape}")
    if not np.isfinite(np.asarray(values, np.float64)).all():
        raise LimitationError(f"{name} must be finite")


def _extents(
    node: Node, x: Value, axes: list[int]
) -> tuple[list[float], list[int], list[tuple[float, float]]]:
    """Return the scale, the new length and the part of the source, of each axis."""
    region: Any = None
    if node.op == "Upsample" or node.version < 11:
        scales_in = node.known(1)
        given: Any = node.attributes.get("scales") if scales_in is None else scales_in
        sizes_in = None
    else:
        region, given, sizes_in = node.known(1), node.known(2), node.known(3)
    _check_vector("roi", region, 2 * len(axes))
    _check_vector("scales", given, len(axes))
    _check_vector("sizes", sizes_in, len(axes))
    parts = [(0.0, 1.0)] * len(axes)
    if region is not None and region.size:
        count = len(axes)
        parts = [(float(region[k]), float(region[count + k])) for k in range(count)]
    lengths = [x.shape[axis] for axis in axes]
    if sizes_in is not None and sizes_in.size:
        sizes = [int(each) for each in sizes_in]
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        ratios = [n / length for n, length in zip(sizes, lengths, strict=True)]
        if policy != "stretch":
            scale = min(ratios) if policy == "not_larger" else max(ratios)
            ratios = [scale] * len(ratios)
            sizes = [int(np.floor(scale * length + 0.5)) for length in lengths]
        return ratios, sizes, parts
    if given is None or not len(given):
        raise LimitationError("neither scales nor sizes are given")
    scales = [float(each) for each in given]
    spans = [
        length * (b - a) if node.text("coordinate_transformation_mode") == "tf_crop_and_resize"
        else length
        for length, (a, b) in zip(lengths, parts, strict=True)
    ]  # fmt: skip
    counts = [int(np.floor(span * scale)) for span, scale in zip(spans, scales, strict=True)]
    return scales, counts, parts
