"""Gathering and scattering, and the ops that sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    both,
    compare,
    convert,
    either,
    is_nan,
    select,
    wrap_index,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import (
    gather_nd,
    scatter_along_axis,
    scatter_nd,
    take,
    take_along_axis,
)
from riselang.frontends.onnx.primitives.reductions import sort
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    expand_dims,
    iota,
    reshape,
    slice_axis,
    stack,
)
from riselang.frontends.onnx.registry import Node, converts

REDUCTIONS: dict[str, str | None] = {
    "none": None, "add": "add", "mul": "multiply", "max": "maximum", "min": "minimum",
}  # fmt: skip


@converts("Gather", summary="`map` over the indices, with `at`", keeps_small_types=True)
def _gather(node: Node) -> Value:
    return take(node[0], node[1], node[0].axis(node.integer("axis", 0)))


@converts("GatherElements", summary="`map` over the indices, with `at`")
def _gather_elements(node: Node) -> Value:
    return take_along_axis(node[0], node[1], node[0].axis(node.integer("axis", 0)))


@converts("GatherND", summary="`map` over the indices, with `at`")
def _gather_nd(node: Node) -> Value:
    return gather_nd(node[0], node[1], node.integer("batch_dims", 0))


@converts("Scatter", "ScatterElements", summary="`scatter` or `scatterWith`")
def _scatter_elements(node: Node) -> Value:
    op = node.choice("reduction", REDUCTIONS, "none")
    axis = node[0].axis(node.integer("axis", 0))
    return scatter_along_axis(node[0], node[1], node[2], axis, op)


@converts("ScatterND", summary="`scatter` or `scatterWith`")
def _scatter_nd(node: Node) -> Value:
    return scatter_nd(node[0], node[1], node[2], node.choice("reduction", REDUCTIONS, "none"))


@converts("TensorScatter", summary="`scatter`")
def _tensor_scatter(node: Node) -> Value:
    """Write a part of a cache from an index of each batch on."""
    cache, update, starts = node[0], node[1], node.optional(2)
    axis = cache.axis(node.integer("axis", -2))
    graph, shape = node.graph, update.shape
    place = iota(graph, shape, axis)
    if starts is not None:
        place = add(place, broadcast_in_dim(convert(starts, "i64"), shape, [0]))
    if node.text("mode", "linear") == "circular":
        length = cache.shape[axis]
        place = binary("remainder", place, length)
    parts = [place if k == axis else iota(graph, shape, k) for k in range(cache.rank)]
    return scatter_nd(cache, stack(parts, cache.rank), update)


@converts("OneHot", summary="an elementwise `map` of `generate`d indices")
def _one_hot(node: Node) -> Value:
    indices, depth, values = node[0], int(node[1].known().reshape(-1)[0]), node[2]
    axis = node.integer("axis", -1) % (indices.rank + 1)
    places = wrap_index(indices, depth)
    shape = [*indices.shape[:axis], depth, *indices.shape[axis:]]
    counted = iota(node.graph, shape, axis)
    hit = compare("EQ", counted, expand_dims(places, [axis]))
    off, on = (reshape(slice_axis(values, 0, k, k + 1), ()) for k in range(2))
    return select(hit, on, off)


@converts("TopK", summary="`take` of `sort`")
def _top_k(node: Node) -> list[Value]:
    x = node[0]
    count = int(node[1].known().reshape(-1)[0]) if len(node.inputs) > 1 else node.integer("k")
    axis = x.axis(node.integer("axis", -1))
    direction = "GT" if node.integer("largest", 1) else "LT"

    def before(a: Value, b: Value, i: Value, j: Value) -> Value:
        first = compare(direction, a, b)
        if x.type.is_float:
            first = either(first, both(is_nan(a), compare("EQ", b, b)))
        return either(first, both(compare("EQ", a, b), compare("LT", i, j)))

    found = sort([x, iota(node.graph, x.shape, axis)], axis, before)
    return [slice_axis(each, axis, 0, count) for each in found]


@converts("Compress", summary="`at`, for a condition that is compiled in")
def _compress(node: Node) -> Value:
    x, places = node[0], np.flatnonzero(node[1].known()).astype(np.int64)
    given: Any = node.attributes.get("axis")
    if given is None:
        return take(reshape(x, (x.size,)), node.graph.constant(places), 0)
    return take(x, node.graph.constant(places), x.axis(int(given)))


@converts("ArrayFeatureExtractor", summary="`map` over the indices, with `at`", domain="ai.onnx.ml")
def _array_feature_extractor(node: Node) -> Value:
    """Take elements of the last dimension; those of a vector are a matrix of one row."""
    x, indices = node.tensor(0, least=1), reshape(node[1], (node[1].size,))
    found = take(x, indices, x.rank - 1)
    return expand_dims(found, [0]) if x.rank == 1 else found
