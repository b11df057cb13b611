"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    compare,
    convert,
    divide,
    multiply,
    select,
    square_root,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.reductions import mean_of, reduce_window, sum_of
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim, reshape
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

ROWS = "`map`s and `reduce`s"
FLOATS = {1: "f32", 10: "f16", 11: "f64", 16: "bf16"}


def _stash_type(node: Node) -> str:
    number = node.integer("stash_type", 1)
    if number not in FLOATS:
        raise LimitationError(f"the stash_type {number} is not a float type")
    return FLOATS[number]


def variance_of(x: Value, mean: Value, axes: Sequence[int]) -> Value:
    distance = subtract(x, mean)
    return mean_of(multiply(distance, distance), axes, keepdims=True)


@converts("LayerNormalization", summary=ROWS)
def _layer_normalization(node: Node) -> list[Value]:
    x, axis = node[0], node[0].axis(node.integer("axis", -1))
    axes = list(range(axis, x.rank))
    wide = convert(x, _stash_type(node))
    mean = mean_of(wide, axes, keepdims=True)
    variance = variance_of(wide, mean, axes)
    inverse = divide(1, square_root(add(variance, node.number("epsilon", 1e-5))))
    found = convert(multiply(subtract(wide, mean), inverse), x.element)
    found = multiply(found, node[1])
    bias = node.optional(2)
    return [found if bias is None else add(found, bias), mean, inverse]


@converts("RMSNormalization", summary=ROWS)
def _rms_normalization(node: Node) -> Value:
    x, axis = node[0], node[0].axis(node.integer("axis", -1))
    axes = list(range(axis, x.rank))
    wide = convert(x, _stash_type(node))
    square = mean_of(multiply(wide, wide), axes, keepdims=True)
    root = square_root(add(square, node.number("epsilon", 1e-5)))
    return multiply(convert(divide(wide, root), x.element), node[1])


def channel(x: Value, like: Value) -> Value:
    """Broadcast a vector along the second dimension."""
    return broadcast_in_dim(x, like.shape, [1])


@converts("BatchNormalization", summary=ROWS)
def _batch_normalization(node: Node) -> list[Value]:
    _, scale, bias, mean, variance = node.values[:5]
    x = node.tensor(0, least=2)
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    more: list[Value] = []
    if node.integer("training_mode", 0):
        axes = [k for k in range(x.rank) if k != 1]
        own = mean_of(x, axes, keepdims=True)
        spread = reshape(variance_of(x, own, axes), (x.shape[1],))
        own = reshape(own, (x.shape[1],))
        more = [
            add(multiply(old, momentum), convert(multiply(new, 1 - momentum), old.element))
            for old, new in ((mean, own), (variance, spread))
        ]
        mean, variance = own, spread
    wide = mean.element
    factor = divide(convert(scale, wide), square_root(add(variance, epsilon)))
    offset = subtract(convert(bias, wide), multiply(mean, factor))
    found = add(multiply(convert(x, wide), channel(factor, x)), channel(offset, x))
    return [convert(found, x.element), *more]


@converts("InstanceNormalization", summary=ROWS)
def _instance_normalization(node: Node) -> Value:
    x, axes = node.tensor(0, least=2), list(range(2, node[0].rank))
    found = normalized(x, axes, node.number("epsilon", 1e-5))
    return add(multiply(found, channel(node[1], x)), channel(node[2], x))


def normalized(x: Value, axes: Sequence[int], epsilon: float) -> Value:
    mean = mean_of(x, axes, keepdims=True)
    variance = variance_of(x, mean, axes)
    return divide(subtract(x, mean), square_root(add(variance, epsilon)))


@converts("GroupNormalization", summary=ROWS)
def _group_normalization(node: Node) -> Value:
    x, groups = node.tensor(0, least=2), node.integer("num_groups")
    if groups < 1 or x.shape[1] % groups:
        raise LimitationError(f"{x.shape[1]} channels are not {groups} groups")
    wide = convert(x, _stash_type(node))
    rows = reshape(wide, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    found = normalized(rows, list(range(2, rows.rank)), node.number("epsilon", 1e-5))
    found = convert(reshape(found, x.shape), x.element)
    scale, bias = node[1], node[2]
    if scale.shape[0] != x.shape[1]:
        each = x.shape[1] // groups
        scale, bias = (
            reshape(broadcast_in_dim(v, (groups, each), [0]), (x.shape[1],)) for v in (scale, bias)
        )
    return add(multiply(found, channel(scale, x)), channel(bias, x))


@converts("LpNormalization", summary=ROWS)
def _lp_normalization(node: Node) -> Value:
    x, axis = node[0], node[0].axis(node.integer("axis", -1))
    if node.integer("p", 2) == 1:
        norm = sum_of(unary("abs", x), [axis], keepdims=True)
    else:
        norm = square_root(sum_of(multiply(x, x), [axis], keepdims=True))
    zero = compare("EQ", norm, 0)
    return select(zero, 0, divide(x, select(zero, 1, norm)))


@converts("MeanVarianceNormalization", summary=ROWS)
def _mean_variance_normalization(node: Node) -> Value:
    x = node[0]
    axes = [x.axis(int(each)) for each in node.attributes.get("axes") or (0, 2, 3)]
    mean = mean_of(x, axes, keepdims=True)
    spread = square_root(variance_of(x, mean, axes))
    return divide(subtract(x, mean), add(spread, 1e-9))


@converts("LRN", summary="`slide` over the channels")
def _lrn(node: Node) -> Value:
    x, size = node.tensor(0, least=2), node.integer("size")
    if size < 1:
        raise LimitationError(f"the size of the window is {size}")
    ones = [1] * x.rank
    sizes, pads = list(ones), [(0, 0)] * x.rank
    sizes[1], pads[1] = size, ((size - 1) // 2, size - 1 - (size - 1) // 2)
    total = reduce_window("add", multiply(x, x), (sizes, ones, ones, pads))
    alpha, beta = node.number("alpha", 1e-4), node.number("beta", 0.75)
    base = add(multiply(total, alpha / size), node.number("bias", 1.0))
    return divide(x, binary("power", base, beta))
