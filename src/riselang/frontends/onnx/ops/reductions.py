"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable

from riselang.frontends.onnx.primitives.elementwise import (
    add,
    compare,
    convert,
    exponential,
    logarithm,
    multiply,
    select,
    square_root,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.reductions import (
    cumulative,
    index_of_extreme,
    mean_of,
    reduce,
    sum_of,
)
from riselang.frontends.onnx.primitives.shapes import expand_dims, pad, reshape, reverse, slice_axis
from riselang.frontends.onnx.registry import Node, converts

Reduction = Callable[[Value, list[int]], Value]
"""Reduces axes, which are kept with the length 1."""


def _log_sum_exp(x: Value, axes: list[int]) -> Value:
    greatest = reduce("maximum", x, axes, keepdims=True)
    finite = _finite(greatest)
    total = sum_of(exponential(subtract(x, finite)), axes, keepdims=True)
    return add(logarithm(total), finite)


def _finite(x: Value) -> Value:
    """Replace infinities and NaN by 0."""
    return select(compare("LT", unary("abs", x), float("inf")), x, 0)


def _norm(x: Value, axes: list[int]) -> Value:
    if x.type.is_integer:
        return convert(_norm(convert(x, "f64"), axes), x.element)
    return square_root(sum_of(multiply(x, x), axes, keepdims=True))


def _log_sum(x: Value, axes: list[int]) -> Value:
    if x.type.is_integer:
        return convert(_log_sum(convert(x, "f64"), axes), x.element)
    return logarithm(sum_of(x, axes, keepdims=True))


REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": lambda x, axes: sum_of(x, axes, True),
    "ReduceMean": lambda x, axes: mean_of(x, axes, True),
    "ReduceProd": lambda x, axes: reduce("multiply", x, axes, True),
    "ReduceMax": lambda x, axes: reduce("maximum", x, axes, True),
    "ReduceMin": lambda x, axes: reduce("minimum", x, axes, True),
    "ReduceL1": lambda x, axes: sum_of(unary("abs", x), axes, True),
    "ReduceL2": _norm,
    "ReduceSumSquare": lambda x, axes: sum_of(multiply(x, x), axes, True),
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}


def _reduction(function: Reduction) -> Callable[[Node], Value]:
    def convert_node(node: Node) -> Value:
        x, given = node[0], node.integers(1, "axes")
        if not given and node.integer("noop_with_empty_axes", 0):
            # Only the reduction is omitted, not what is computed of each element.
            found = function(expand_dims(x, [x.rank]), [x.rank])
            return reshape(found, x.shape)
        axes = sorted({x.axis(each) for each in given}) if given else list(range(x.rank))
        half = x.type.is_half
        found = function(convert(x, "f32") if half else x, axes)
        found = convert(found, x.element)
        if node.integer("keepdims", 1):
            return found
        return reshape(found, [n for k, n in enumerate(found.shape) if k not in axes])

    return convert_node


for _name, _function in REDUCTIONS.items():
    converts(_name, summary="`reduce`, inside `map`s")(_reduction(_function))


@converts("ArgMax", "ArgMin", summary="`reduce` of pairs of a value and its index")
def _arg_extreme(node: Node) -> Value:
    x = node[0]
    axis = x.axis(node.integer("axis", 0))
    is_last = bool(node.integer("select_last_index", 0))
    found = index_of_extreme(x, axis, node.op == "ArgMax", is_last)
    return expand_dims(found, [axis]) if node.integer("keepdims", 1) else found


@converts("CumSum", "CumProd", summary="`scan`")
def _cumulative(node: Node) -> Value:
    x = node[0]
    axis = x.axis(int(node[1].known().reshape(-1)[0]))
    name = "add" if node.op == "CumSum" else "multiply"
    is_reversed = bool(node.integer("reverse", 0))
    x = reverse(x, [axis]) if is_reversed else x
    if node.integer("exclusive", 0):
        low, high = [0] * x.rank, [0] * x.rank
        low[axis] = 1
        start = node.graph.scalar(0 if name == "add" else 1, x)
        x = slice_axis(pad(x, start, low, high), axis, 0, x.shape[axis])
    found = cumulative(name, x, axis)
    return reverse(found, [axis]) if is_reversed else found
