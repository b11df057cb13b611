"""Steps of optimizers, for each of several tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from riselang.frontends.onnx.ops.elementwise import MAP
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
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import reshape
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

DOMAIN = "ai.onnx.preview.training"
Step = Callable[..., list[Value]]
"""Takes the rate, the number of the step, a tensor, its gradient and its state."""


def _each(node: Node, states: int, step: Step) -> list[Value]:
    """Take a step for each tensor; the inputs are all tensors, all gradients, and all states."""
    rate, number, *rest = node.values
    count, remainder = divmod(len(rest), 2 + states)
    if remainder or not count:
        raise LimitationError(f"{len(rest)} inputs are not tensors, gradients and states")
    groups = [rest[k * count : (k + 1) * count] for k in range(2 + states)]
    found = [
        step(reshape(rate, ()), reshape(number, ()), *each) for each in zip(*groups, strict=True)
    ]
    return [part for parts in zip(*found, strict=True) for part in parts]


def _gradient(node: Node, x: Value, gradient: Value) -> Value:
    """Add the gradient of the regularization."""
    return add(multiply(x, node.number("norm_coefficient", 0.0)), gradient)


@converts("Momentum", summary=MAP, domain=DOMAIN)
def _momentum(node: Node) -> list[Value]:
    return _each(node, 1, partial(_momentum_step, node))


def _momentum_step(
    node: Node, rate: Value, number: Value, x: Value, gradient: Value, momentum: Value
) -> list[Value]:
    alpha, beta = node.number("alpha", 0.0), node.number("beta", 0.0)
    slope = _gradient(node, x, gradient)
    own = select(compare("GT", number, 0), node.graph.full(beta, (), x.element),
                 node.graph.full(1, (), x.element))  # fmt: skip
    new = add(multiply(momentum, alpha), multiply(slope, own))
    change = new
    if node.text("mode") == "nesterov":
        change = add(slope, multiply(new, alpha))
    return [subtract(x, multiply(change, rate)), new]


@converts("Adagrad", summary=MAP, domain=DOMAIN)
def _adagrad(node: Node) -> list[Value]:
    return _each(node, 1, partial(_adagrad_step, node))


def _adagrad_step(
    node: Node, rate: Value, number: Value, x: Value, gradient: Value, squares: Value
) -> list[Value]:
    decay = multiply(convert(number, rate.element), node.number("decay_factor", 0.0))
    slope = _gradient(node, x, gradient)
    new = add(squares, multiply(slope, slope))
    root = add(square_root(new), node.number("epsilon", 0.0))
    change = divide(multiply(slope, divide(rate, add(decay, 1))), root)
    return [subtract(x, change), new]


@converts("Adam", summary=MAP, domain=DOMAIN)
def _adam(node: Node) -> list[Value]:
    return _each(node, 2, partial(_adam_step, node))


def _adam_step(
    node: Node, rate: Value, number: Value, x: Value, gradient: Value, mean: Value, squares: Value
) -> list[Value]:
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    slope = _gradient(node, x, gradient)
    mean = add(multiply(mean, alpha), multiply(slope, 1 - alpha))
    squares = add(multiply(squares, beta), multiply(multiply(slope, slope), 1 - beta))
    root = add(square_root(squares), node.number("epsilon", 0.0))
    count = convert(number, rate.element)
    powers = [binary("power", node.graph.full(each, (), rate.element), count)
              for each in (alpha, beta)]  # fmt: skip
    corrected = divide(multiply(rate, square_root(subtract(1, powers[1]))), subtract(1, powers[0]))
    own = select(compare("GT", number, 0), corrected, rate)
    new = subtract(x, multiply(divide(mean, root), own))
    return [multiply(new, 1 - node.number("norm_coefficient_post", 0.0)), mean, squares]
