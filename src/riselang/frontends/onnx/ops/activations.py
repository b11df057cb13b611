"""Activation functions, and softmax."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from riselang.frontends.onnx.ops.elementwise import MAP, in_f32
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    compare,
    convert,
    divide,
    exponential,
    logarithm,
    maximum,
    minimum,
    multiply,
    select,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.reductions import index_of_extreme, reduce, sum_of
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim, expand_dims, iota, reshape
from riselang.frontends.onnx.registry import Node, converts


def _expm1(x: Value) -> Value:
    return unary("exponential_minus_one", x)


@converts("Relu", summary=MAP)
def _relu(node: Node) -> Value:
    return maximum(node[0], 0)


@converts("LeakyRelu", summary=MAP)
def _leaky_relu(node: Node) -> Value:
    return leaky_relu(node[0], node.number("alpha", 0.01))


def leaky_relu(x: Value, alpha: float) -> Value:
    return select(compare("LT", x, 0), multiply(x, alpha), x)


@converts("PRelu", summary=MAP)
def _p_relu(node: Node) -> Value:
    x, slope = node[0], node[1]
    if node.version < 7 and slope.size > 1:
        slope = broadcast_in_dim(slope, x.shape, [1])
    return select(compare("LT", x, 0), multiply(x, slope), x)


@converts("Elu", summary=MAP)
def _elu(node: Node) -> Value:
    return in_f32(lambda x: elu(x, node.number("alpha", 1.0)), node[0])


def elu(x: Value, alpha: float) -> Value:
    return select(compare("LT", x, 0), multiply(_expm1(x), alpha), x)


@converts("Celu", summary=MAP)
def _celu(node: Node) -> Value:
    alpha = node.number("alpha", 1.0)
    return add(maximum(node[0], 0), minimum(multiply(_expm1(divide(node[0], alpha)), alpha), 0))


@converts("Selu", summary=MAP)
def _selu(node: Node) -> Value:
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    x = node[0]
    return multiply(select(compare("LE", x, 0), multiply(_expm1(x), alpha), x), gamma)


@converts("HardSigmoid", summary=MAP)
def _hard_sigmoid(node: Node) -> Value:
    return hard_sigmoid(node[0], node.number("alpha", 0.2), node.number("beta", 0.5))


def hard_sigmoid(x: Value, alpha: float, beta: float) -> Value:
    return maximum(minimum(add(multiply(x, alpha), beta), 1), 0)


@converts("HardSwish", summary=MAP)
def _hard_swish(node: Node) -> Value:
    return multiply(node[0], hard_sigmoid(node[0], 1 / 6, 0.5))


@converts("ThresholdedRelu", summary=MAP)
def _thresholded_relu(node: Node) -> Value:
    return select(compare("GT", node[0], node.number("alpha", 1.0)), node[0], 0)


@converts("Softplus", summary=MAP)
def _softplus(node: Node) -> Value:
    return in_f32(softplus, node[0])


def softplus(x: Value) -> Value:
    """log(1 + exp(x)), which does not overflow."""
    small = exponential(unary("negate", unary("abs", x)))
    return add(maximum(x, 0), unary("log_plus_one", small))


@converts("Softsign", summary=MAP)
def _softsign(node: Node) -> Value:
    return divide(node[0], add(unary("abs", node[0]), 1))


@converts("Mish", summary=MAP)
def _mish(node: Node) -> Value:
    return in_f32(lambda x: multiply(x, unary("tanh", softplus(x))), node[0])


@converts("Swish", summary=MAP)
def _swish(node: Node) -> Value:
    x = node[0]
    return multiply(x, unary("logistic", multiply(x, node.number("alpha", 1.0))))


@converts("Gelu", summary=MAP)
def _gelu(node: Node) -> Value:
    is_tanh = node.text("approximate", "none") == "tanh"
    return in_f32(gelu_tanh if is_tanh else gelu, node[0])


def gelu(x: Value) -> Value:
    return multiply(multiply(x, 0.5), add(unary("chlo.erf", multiply(x, 2**-0.5)), 1))


def gelu_tanh(x: Value) -> Value:
    cubed = multiply(multiply(multiply(x, x), x), 0.044715)
    inner = multiply(add(x, cubed), 0.7978845608028654)
    return multiply(multiply(x, 0.5), add(unary("tanh", inner), 1))


@converts("Shrink", summary=MAP)
def _shrink(node: Node) -> Value:
    x, bias, limit = node[0], node.number("bias", 0.0), node.number("lambd", 0.5)
    if x.type.is_integer:
        held = convert(x, "f64")
        return convert(_shrunk(held, bias, limit), x.element)
    return _shrunk(x, bias, limit)


def _shrunk(x: Value, bias: float, limit: float) -> Value:
    low = select(compare("LT", x, -limit), add(x, bias), 0)
    return select(compare("GT", x, limit), subtract(x, bias), low)


def softmax(x: Value, axis: int) -> Value:
    grown = exponential(subtract(x, reduce("maximum", x, [axis], keepdims=True)))
    return divide(grown, sum_of(grown, [axis], keepdims=True))


def log_softmax(x: Value, axis: int) -> Value:
    shifted = subtract(x, reduce("maximum", x, [axis], keepdims=True))
    return subtract(shifted, logarithm(sum_of(exponential(shifted), [axis], keepdims=True)))


def hardmax(x: Value, axis: int) -> Value:
    greatest = expand_dims(index_of_extreme(x, axis, is_greatest=True), [axis])
    places = iota(x.graph, x.shape, axis)
    return convert(compare("EQ", places, greatest), x.element)


def _along_axis(function: Callable[[Value, int], Value], node: Node) -> Value:
    """Apply a function along an axis; before op set 13, along all dimensions from it on."""
    x = node[0]
    if node.version >= 13:
        return in_f32(lambda each: function(each, x.axis(node.integer("axis", -1))), x)
    axis = x.axis(node.integer("axis", 1)) if x.rank > 1 or "axis" in node.attributes else 0
    rows = reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return reshape(function(rows, 1), x.shape)


for _name, _function in {
    "Softmax": softmax, "LogSoftmax": log_softmax, "Hardmax": hardmax,
}.items():  # fmt: skip
    converts(_name, summary="`map`s and `reduce`s along an axis")(
        lambda node, f=_function: _along_axis(f, node)
    )
