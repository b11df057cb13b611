"""Constants, ranges, and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.frontends.onnx.element_types import element_of_type, type_name
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    compare,
    convert,
    divide,
    multiply,
    select,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import iota
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


@converts("Constant", summary="a literal, or a bound argument")
def _constant(node: Node) -> Value:
    attributes = node.attributes
    if "value" in attributes:
        return node.subgraphs.tensor(attributes["value"])
    if "sparse_value" in attributes:
        return node.subgraphs.sparse_tensor(attributes["sparse_value"])
    for name, dtype in (
        ("value_float", np.float32), ("value_floats", np.float32),
        ("value_int", np.int64), ("value_ints", np.int64),
    ):  # fmt: skip
        if name in attributes:
            return node.graph.constant(np.array(attributes[name], dtype))
    raise LimitationError("strings are not supported")


@converts("ConstantOfShape", summary="`generate`")
def _constant_of_shape(node: Node) -> Value:
    if "value" not in node.attributes:
        return node.graph.full(0, node[0].integers(), "f32")
    value: Value = node.subgraphs.tensor(node.attributes["value"])
    found = node.graph.full(value.known().reshape(-1)[0], node[0].integers(), value.element)
    found.small_type = value.small_type
    return found


@converts("Range", summary="`generate`")
def _range(node: Node) -> Value:
    first, limit, step = (node[k].known().reshape(-1)[0] for k in range(3))
    if not step:
        raise LimitationError("the step is 0")
    count = max(int(np.ceil((float(limit) - float(first)) / float(step))), 0)
    element = node[0].element
    if node[0].type.is_integer:
        count = len(range(int(first), int(limit), int(step)))
    if count <= 1 << 12:
        found = first + np.arange(count) * step
        return node.graph.constant(np.asarray(found), element)
    counted = iota(node.graph, (count,), 0, element)
    return add(multiply(counted, step.item()), first.item())


@converts("EyeLike", summary="an elementwise `map` of `generate`d indices")
def _eye_like(node: Node) -> Value:
    x = node.tensor(0, rank=2)
    given = node.attributes.get("dtype")
    element = x.element if given is None else element_of_type(type_name(given))[0]
    rows, columns = iota(node.graph, x.shape, 0), iota(node.graph, x.shape, 1)
    hit = compare("EQ", columns, add(rows, node.integer("k", 0)))
    return convert(hit, element)


def random_numbers(
    node: Node, kind: str, shape: Any, element: str, low: float, high: float
) -> Value:
    wide = "f64" if element == "f64" else "f32"
    graph = node.graph
    numbers = [graph.full(each, (), wide) for each in (low, high)]
    lengths = graph.constant(np.array(shape, np.int64).reshape(-1))
    found = graph.emit_one("rng", [*numbers, lengths], (tuple(shape), wide), rng_distribution=kind)
    return convert(found, element)


def _element(node: Node, default: str) -> str:
    given = node.attributes.get("dtype")
    return default if given is None else element_of_type(type_name(given))[0]


@converts("RandomUniform", "RandomUniformLike", summary="`map` over Philox bits")
def _random_uniform(node: Node) -> Value:
    shape = node[0].shape if node.inputs else node.attributes["shape"]
    element = _element(node, node[0].element if node.inputs else "f32")
    return random_numbers(
        node, "UNIFORM", shape, element, node.number("low", 0.0), node.number("high", 1.0)
    )


@converts("RandomNormal", "RandomNormalLike", summary="`map` over Philox bits")
def _random_normal(node: Node) -> Value:
    shape = node[0].shape if node.inputs else node.attributes["shape"]
    element = _element(node, node[0].element if node.inputs else "f32")
    return random_numbers(
        node, "NORMAL", shape, element, node.number("mean", 0.0), node.number("scale", 1.0)
    )


@converts("Bernoulli", summary="`map` over Philox bits")
def _bernoulli(node: Node) -> Value:
    x = node[0]
    drawn = random_numbers(node, "UNIFORM", x.shape, x.element, 0.0, 1.0)
    return convert(compare("LT", drawn, x), _element(node, x.element))


@converts("Dropout", summary="no code, or in training a `map` over Philox bits")
def _dropout(node: Node) -> list[Value]:
    x, graph = node[0], node.graph
    everything = graph.full(1, x.shape, "i1")
    training = node.known(2)
    if node.version < 12:
        return [x, everything]
    ratio = node.known(1)
    rate = 0.5 if ratio is None else float(ratio)
    if training is None or not bool(training) or rate == 0:
        return [x, everything]
    drawn = random_numbers(node, "UNIFORM", x.shape, "f32", 0.0, 1.0)
    kept = compare("GE", drawn, rate)
    return [select(kept, divide(x, 1 - rate), 0), kept]
