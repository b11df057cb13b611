"""Reductions, windows, prefixes, and sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import (
    binary,
    both,
    compare,
    convert,
    either,
    is_nan,
    select,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import iota, reshape

_FOLDS: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce, "multiply": np.multiply.reduce, "maximum": np.maximum.reduce,
    "minimum": np.minimum.reduce, "and": np.logical_and.reduce, "or": np.logical_or.reduce,
}  # fmt: skip
Window = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[tuple[int, int]]]
"""Sizes, strides, dilations and padding in each dimension."""


def neutral_element(name: str, like: Value) -> Value:
    """Return the neutral element of an op."""
    if name in ("add", "or"):
        return like.graph.scalar(0, like)
    if name in ("multiply", "and"):
        return like.graph.scalar(1, like)
    is_greatest = name == "minimum"
    if like.type.is_float:
        return like.graph.scalar(np.inf if is_greatest else -np.inf, like)
    if like.type.is_boolean:
        return like.graph.scalar(is_greatest, like)
    limits = np.iinfo(like.dtype)
    return like.graph.scalar(limits.max if is_greatest else limits.min, like)


def _shape_without(x: Value, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(length for k, length in enumerate(x.shape) if k not in axes)


def reduce(name: str, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
    """Reduce dimensions by an op; half floats are accumulated as f32."""
    axes = sorted(axes)
    if x.type.is_half and name in ("add", "multiply"):
        return convert(reduce(name, convert(x, "f32"), axes, keepdims), x.element)
    if not axes:
        return x
    shape = _shape_without(x, axes)
    if x.array is not None and x.size and x.size <= 1 << 16:
        found = x.graph.constant(_FOLDS[name](x.array, tuple(axes)), x.element)
    else:
        kind = ((), x.element)
        block, _, _ = x.graph.region([kind, kind], lambda a, b: x.graph.emit(name, [a, b], [kind]))
        found = x.graph.emit(
            "reduce", [x, neutral_element(name, x)], [(shape, x.element)],
            {"dimensions": tuple(axes)}, [block],
        )[0]  # fmt: skip
    if not keepdims:
        return found
    return reshape(found, [1 if k in axes else length for k, length in enumerate(x.shape)])


def reduce_window(name: str, x: Value, window: Window, start: Value | None = None) -> Value:
    """Reduce windows by an op."""
    sizes, strides, dilations, padding = window
    kind = ((), x.element)
    shape = tuple(
        (length + before + after - ((size - 1) * dilation + 1)) // stride + 1
        for length, size, stride, dilation, (before, after) in zip(
            x.shape, sizes, strides, dilations, padding, strict=True
        )
    )
    block, _, _ = x.graph.region([kind, kind], lambda a, b: x.graph.emit(name, [a, b], [kind]))
    return x.graph.emit(
        "reduce_window", [x, start or neutral_element(name, x)], [(shape, x.element)],
        {
            "window_dimensions": tuple(sizes), "window_strides": tuple(strides),
            "window_dilations": tuple(dilations), "padding": tuple(padding),
        },
        [block],
    )[0]  # fmt: skip


def cumulative(name: str, x: Value, axis: int) -> Value:
    """Return the reductions of all prefixes."""
    ones = [1] * x.rank
    sizes, padding = list(ones), [(0, 0)] * x.rank
    sizes[axis], padding[axis] = x.shape[axis], (x.shape[axis] - 1, 0)
    return reduce_window(name, x, (sizes, ones, ones, padding))


def index_of_extreme(x: Value, axis: int, is_greatest: bool, is_last: bool = False) -> Value:
    """Return the index of the greatest or least element along a dimension, which is dropped."""
    graph = x.graph
    kinds = [((), x.element), ((), "i64")]
    start = neutral_element("maximum" if is_greatest else "minimum", x)

    def better(value: Value, place: Value, held: Value, held_place: Value) -> Sequence[Value]:
        nearer = compare("GT" if is_last else "LT", place, held_place)
        wins = compare("GT" if is_greatest else "LT", value, held)
        takes = either(wins, both(compare("EQ", value, held), nearer))
        takes = either(takes, compare("LT", held_place, 0))
        if x.type.is_float:
            takes = both(takes, either(compare("LT", held_place, 0), compare("EQ", held, held)))
            takes = either(takes, both(is_nan(value), compare("EQ", held, held)))
        takes = both(takes, compare("GE", place, 0))
        return [select(takes, value, held), select(takes, place, held_place)]

    block, _, _ = graph.region(
        [*kinds, *kinds], lambda held, held_at, value, place: better(value, place, held, held_at)
    )
    operands = [x, iota(graph, x.shape, axis), start, graph.full(-1, (), "i64")]
    shape = _shape_without(x, [axis])
    results = graph.emit(
        "reduce", operands, [(shape, x.element), (shape, "i64")], {"dimensions": (axis,)}, [block]
    )
    return results[1]


def sort(operands: Sequence[Value], axis: int, before: Callable[..., Value]) -> list[Value]:
    """Sort stably; `before` takes pairs of elements of each operand."""
    graph = operands[0].graph
    kinds = [((), each.element) for each in operands for _ in range(2)]
    block, _, _ = graph.region(kinds, lambda *parts: [before(*parts)])
    return graph.emit(
        "sort", operands, [(each.shape, each.element) for each in operands],
        {"dimension": axis, "is_stable": True}, [block],
    )  # fmt: skip


def sum_of(x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
    return reduce("add", x, axes, keepdims)


def mean_of(x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return binary("divide", sum_of(x, axes, keepdims), count)
