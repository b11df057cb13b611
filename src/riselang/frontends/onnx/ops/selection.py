"""Ops whose results have shapes that depend on values, which must be known during import."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.graph import Array, Value
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

CONSTANT = "a constant, of a constant or of an argument that is compiled in"


@converts("NonZero", summary=CONSTANT)
def _non_zero(node: Node) -> Value:
    found = np.nonzero(np.atleast_1d(node[0].known()))
    return node.graph.constant(np.array(found, np.int64))


@converts("Unique", summary=CONSTANT)
def _unique(node: Node) -> list[Value]:
    x = node[0].known()
    axis: Any = node.attributes.get("axis")
    axis = None if axis is None else node[0].axis(int(axis))
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if not node.integer("sorted", 1):
        order = np.argsort(first)
        values = np.take(values, order, axis or 0)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, counts, inverse = first[order], counts[order], rank[inverse]
    parts = [first, inverse.reshape(-1), counts]
    return [
        node.graph.constant(values, node[0].element),
        *(node.graph.constant(each.astype(np.int64)) for each in parts),
    ]


@converts("NonMaxSuppression", summary=CONSTANT)
def _non_max_suppression(node: Node) -> Value:
    boxes, scores = node.tensor(0, rank=3), node.tensor(1, rank=3)
    if boxes.shape[2] != 4 or scores.shape[2] != boxes.shape[1]:
        raise LimitationError(
            f"boxes of the shape {boxes.shape} and scores of the shape {scores.shape} do not fit"
        )
    corners = _corners(boxes.known(), bool(node.integer("center_point_box", 0)))
    most, overlap = int(_number(node, 2)), _number(node, 3)
    least = _number(node, 4) if node.optional(4) is not None else -np.inf
    chosen: list[tuple[int, int, int]] = []
    for batch, row in enumerate(scores.known()):
        for category, each in enumerate(row):
            kept = _suppressed(corners[batch], each, most, overlap, least)
            chosen += [(batch, category, box) for box in kept]
    return node.graph.constant(np.array(chosen, np.int64).reshape(-1, 3))


def _number(node: Node, position: int) -> float:
    found = node.known(position)
    return 0.0 if found is None or not found.size else float(found.reshape(-1)[0])


def _corners(boxes: Array, has_centers: bool) -> Array:
    """Return the least and the greatest coordinates of boxes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if has_centers:
        first, second = first - second / 2, first + second / 2
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _suppressed(boxes: Array, scores: Array, most: int, overlap: float, least: float) -> list[int]:
    """Return the boxes of the greatest scores that overlap none of those before them."""
    kept: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) >= most or not scores[box] > least:
            break
        if all(_overlap(boxes[box], boxes[other]) <= overlap for other in kept):
            kept.append(int(box))
    return kept


def _overlap(first: Array, second: Array) -> float:
    """Return the area that two boxes share, as a part of that which they cover."""
    sides = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    shared = float(np.prod(np.maximum(sides, 0)))
    areas = [float(np.prod(each[2:] - each[:2])) for each in (first, second)]
    return shared / (sum(areas) - shared) if shared > 0 else 0.0
