"""Loops whose state has a dimension for each map around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.export.batches import Batch, Data, leaves, lifted, rebuilt
from riselang.frontends.export.state import ExportState
from riselang.frontends.onnx.primitives.control_flow import while_
from riselang.frontends.onnx.primitives.elementwise import add, compare, select
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.reductions import reduce
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim


class State:
    """The state of a loop, as tensors that differ between the iterations of all maps around it."""

    def __init__(self, exporter: ExportState, start: Data):
        self.exporter = exporter
        self.axes = tuple(range(len(exporter.lengths)))
        self.start = start
        self.tensors = self.flat(start)

    def flat(self, data: Data) -> list[Value]:
        return [lifted(each, self.axes, self.exporter.lengths) for each in leaves(data)]

    def data(self, tensors: Sequence[Value]) -> Data:
        return rebuilt(self.start, [Batch(each, self.axes) for each in tensors])


def counted_loop(
    exporter: ExportState, count: int, step: Callable[[Batch, Data], Data], start: Data
) -> Data:
    """Apply a function of the number of the iteration and the state."""
    if not count:
        return start
    state = State(exporter, start)

    def body(number: Value, *tensors: Value) -> list[Value]:
        return [add(number, 1), *state.flat(step(Batch(number), state.data(tensors)))]

    zero = exporter.graph.full(0, (), "i64")
    results = while_(lambda number, *_: compare("LT", number, count), body, [zero, *state.tensors])
    return state.data(results[1:])


def conditional_loop(exporter: ExportState, holds: Data, function: Data, start: Data) -> Data:
    """Repeat a function; where the condition fails, the state stays as it is."""
    state = State(exporter, start)
    rank = len(state.axes)

    def test(*tensors: Value) -> Value:
        return lifted(holds(state.data(tensors)), state.axes, exporter.lengths)

    def condition(*tensors: Value) -> Value:
        return reduce("or", test(*tensors), list(range(rank)))

    def body(*tensors: Value) -> list[Value]:
        new = state.flat(function(state.data(tensors)))
        if not rank:
            return new
        going = test(*tensors)
        return [
            select(broadcast_in_dim(going, x.shape, range(rank)), x, old)
            for x, old in zip(new, tensors, strict=True)
        ]

    return state.data(while_(condition, body, state.tensors))
