"""Loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.onnx.primitives.elementwise import add, compare
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import dynamic_index, dynamic_update
from riselang.frontends.onnx.primitives.shapes import stack
from riselang.support.errors import LimitationError


def while_(
    condition: Callable[..., Value], body: Callable[..., Sequence[Value]], start: Sequence[Value]
) -> list[Value]:
    """Repeat the body while the condition holds; both take the state."""
    graph = start[0].graph
    kinds = [(each.shape, each.element) for each in start]
    test, _, needed = graph.region(kinds, lambda *state: [condition(*state)])
    step, results, more = graph.region(kinds, body)
    for number, (found, kind) in enumerate(zip(results, kinds, strict=True)):
        if (found.shape, found.element) != kind:
            raise LimitationError(
                f"the state {number} of the loop changes its type from {kind[1]}{kind[0]} to "
                f"{found.element}{found.shape}"
            )
    return graph.emit("while", start, kinds, {}, [test, step], needed | more)


def if_(
    condition: Value,
    then: Callable[[], Sequence[Value]],
    otherwise: Callable[[], Sequence[Value]],
) -> list[Value] | None:
    """Choose the results of a branch; None if those of the branches have different types."""
    graph = condition.graph
    first, results, needed = graph.region([], then)
    second, others, more = graph.region([], otherwise)
    kinds = [(each.shape, each.element) for each in results]
    if kinds != [(each.shape, each.element) for each in others]:
        return None
    if not kinds:
        return []
    return graph.emit("if", [condition], kinds, {}, [first, second], needed | more)


def scan(
    body: Callable[[Value, Sequence[Value], Sequence[Value]], tuple[list[Value], list[Value]]],
    start: Sequence[Value],
    sequences: Sequence[Value],
    count: int,
) -> tuple[list[Value], list[Value]]:
    """Loop over the first dimension of `sequences`; return the last state, and all outputs.

    The body takes the number of the iteration, the state, and the parts of the sequences.
    """
    graph = (*start, *sequences)[0].graph
    kinds: list[tuple[tuple[int, ...], str]] = []

    def probe(*state: Value) -> Sequence[Value]:
        number, *rest = state
        parts = [dynamic_index(each, number) for each in sequences]
        _, outputs = body(number, rest, parts)
        kinds.extend((each.shape, each.element) for each in outputs)
        return []

    number = graph.full(0, (), "i64")
    types = [((), "i64"), *((each.shape, each.element) for each in start)]
    if count == 1:
        state, outputs = body(
            number, list(start), [dynamic_index(each, number) for each in sequences]
        )
        return state, [stack([each], 0) for each in outputs]
    graph.region(types, probe)
    filled = [graph.full(0, (count, *shape), element) for shape, element in kinds]
    if not count:
        return list(start), filled

    def step(*state: Value) -> Sequence[Value]:
        number, *rest = state
        carried, collected = rest[: len(start)], rest[len(start) :]
        parts = [dynamic_index(each, number) for each in sequences]
        new, outputs = body(number, carried, parts)
        stored = [
            dynamic_update(held, each, number)
            for held, each in zip(collected, outputs, strict=True)
        ]
        return [add(number, 1), *new, *stored]

    results = while_(
        lambda number, *_: compare("LT", number, count), step, [number, *start, *filled]
    )
    return results[1 : 1 + len(start)], results[1 + len(start) :]
