"""Branches and loops."""

from __future__ import annotations

from typing import Any

from riselang.frontends.onnx.primitives.control_flow import if_, scan, while_
from riselang.frontends.onnx.primitives.elementwise import add, both, compare
from riselang.frontends.onnx.primitives.graph import UnknownValueError, Value
from riselang.frontends.onnx.primitives.shapes import index_axis, move_axis, reshape, reverse, stack
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


@converts("If", summary="`select`, or a `while` that runs at most once if a branch is costly")
def _if(node: Node) -> list[Any]:
    condition = reshape(node[0], ())
    branches = [node.attributes["then_branch"], node.attributes["else_branch"]]
    if condition.array is not None:
        return node.subgraphs.call(branches[0 if condition.array.item() else 1], [])
    try:
        found = if_(
            condition, *(lambda b=b: _tensors(node.subgraphs.call(b, [])) for b in branches)
        )
    except _NoTensors:
        found = None
    if found is None:
        raise UnknownValueError(condition.inputs)
    return found


class _NoTensors(Exception):
    """A branch or an iteration returns a sequence or an optional."""


def _tensors(results: list[Any]) -> list[Value]:
    if not all(isinstance(each, Value) and not each.small_type for each in results):
        raise _NoTensors
    return results


MAX_UNROLLED = 64
"""The number of iterations up to which loops over sequences are unrolled."""


@converts("Loop", summary="`while` on a tuple; unrolled if its state has sequences")
def _loop(node: Node) -> list[Any]:
    body, limit, condition = node.attributes["body"], node.optional(0), node.optional(1)
    start = list(node.inputs[2:])
    outputs = len(body.output) - 1 - len(start)
    if outputs < 0:
        raise LimitationError("its body has fewer outputs than states")
    plain = all(isinstance(each, Value) for each in start)
    if plain and not outputs:
        return _while(node, body, limit, condition, start)
    if plain:
        found = _counted(node, body, limit, condition, start)
        if found is not None:
            return found
    return _unrolled(node, body, limit, condition, start)


def _iterate(node: Node, body: Any, number: Value, holds: Value, state: list[Any]) -> list[Any]:
    return node.subgraphs.call(body, [_like_input(body, 0, number), holds, *state])


def _like_input(body: Any, position: int, value: Value) -> Value:
    """Give a scalar the rank that the body declares for it: 0 or 1."""
    if position >= len(body.input):
        raise LimitationError("its body has too few inputs")
    shape = body.input[position].type.tensor_type.shape
    return reshape(value, (1,)) if len(shape.dim) == 1 else value


def _scalar(value: Value) -> Value:
    return reshape(value, ())


def _while(
    node: Node, body: Any, limit: Value | None, condition: Value | None, start: list[Value]
) -> list[Value]:
    graph = node.graph
    first = graph.full(1, (), "i1") if condition is None else _scalar(condition)

    def holds(number: Value, ongoing: Value, *_: Value) -> Value:
        return ongoing if limit is None else both(ongoing, compare("LT", number, _scalar(limit)))

    def step(number: Value, ongoing: Value, *state: Value) -> list[Value]:
        after, *new = _iterate(node, body, number, ongoing, list(state))
        return [add(number, 1), _scalar(after), *_tensors(new)]

    return while_(holds, step, [graph.full(0, (), "i64"), first, *start])[2:]


def _counted(
    node: Node, body: Any, limit: Value | None, condition: Value | None, start: list[Value]
) -> list[Value] | None:
    """Convert a loop with outputs of each iteration, whose number is known."""
    if limit is None or (condition is not None and condition.array is None):
        return None
    if condition is not None and not condition.known().item():
        count = 0
    else:
        count = int(limit.known().reshape(-1)[0])
    always = True

    def step(number: Value, state: Any, _: Any) -> tuple[list[Value], list[Value]]:
        nonlocal always
        after, *results = _iterate(node, body, number, node.graph.full(1, (), "i1"), list(state))
        always = always and after.array is not None and bool(after.array.all())
        tensors = _tensors(results)
        return tensors[: len(start)], tensors[len(start) :]

    try:
        state, outputs = scan(step, start or [node.graph.full(0, (), "i64")], [], count)
    except (_NoTensors, LimitationError):
        return None
    if not always:
        return None
    return [*state[: len(start)], *outputs]


def _unrolled(
    node: Node, body: Any, limit: Value | None, condition: Value | None, start: list[Any]
) -> list[Any]:
    """Convert each iteration, as long as it is known whether there is one more."""
    graph = node.graph
    holds = graph.full(1, (), "i1") if condition is None else condition
    state, number = list(start), 0
    collected: list[list[Value]] = [[] for _ in body.output[1 + len(start) :]]
    count = None if limit is None else int(limit.known().reshape(-1)[0])
    while (count is None or number < count) and bool(holds.known().all()):
        if number == MAX_UNROLLED:
            raise LimitationError(f"a loop over sequences has more than {MAX_UNROLLED} iterations")
        holds, *results = _iterate(node, body, graph.full(number, (), "i64"), holds, state)
        state = results[: len(start)]
        for kept, each in zip(collected, results[len(start) :], strict=True):
            kept.append(each)
        number += 1
    if not number and collected:
        raise LimitationError("a loop without iterations has outputs of unknown shapes")
    return [*state, *(stack(each, 0) for each in collected)]


@converts("Scan", summary="`while` on a tuple")
def _scan(node: Node) -> list[Value]:
    body, count = node.attributes["body"], node.integer("num_scan_inputs")
    if node.version < 9:
        return _batched_scan(node, body, count)
    states = len(node.inputs) - count
    if count < 1 or states < 0:
        raise LimitationError(f"{len(node.inputs)} inputs cannot have {count} sequences")
    values = node.values
    return _scanned(node, body, values[:states], values[states:], node.attributes)


def _scanned(
    node: Node, body: Any, start: list[Value], sequences: list[Value], options: Any
) -> list[Value]:
    count = len(sequences)
    outputs = len(body.output) - len(start)
    if outputs < 0:
        raise LimitationError("its body has fewer outputs than states")

    def listed(name: str, length: int) -> list[int]:
        found = list(options.get(name) or [0] * length)
        if len(found) != length:
            raise LimitationError(f"{name} has {len(found)} numbers, but {length} are needed")
        return found

    in_axes, out_axes = listed("scan_input_axes", count), listed("scan_output_axes", outputs)
    backward_in = listed("scan_input_directions", count)
    backward_out = listed("scan_output_directions", outputs)
    arranged = [
        move_axis(reverse(x, [x.axis(axis)]) if back else x, x.axis(axis), 0)
        for x, axis, back in zip(sequences, in_axes, backward_in, strict=True)
    ]

    lengths = sorted({x.shape[0] for x in arranged})
    if len(lengths) > 1:
        raise LimitationError(f"its sequences have the lengths {lengths}")

    def step(_: Value, state: Any, parts: Any) -> tuple[list[Value], list[Value]]:
        results = _tensors(node.subgraphs.call(body, [*state, *parts]))
        return results[: len(start)], results[len(start) :]

    try:
        state, collected = scan(step, start or [node.graph.full(0, (), "i64")], arranged,
                                arranged[0].shape[0])  # fmt: skip
    except _NoTensors:
        raise LimitationError("its body returns sequences") from None
    found: list[Value] = list(state[: len(start)])
    for x, axis, back in zip(collected, out_axes, backward_out, strict=True):
        x = reverse(x, [0]) if back else x
        found.append(move_axis(x, 0, x.axis(axis)))
    return found


def _batched_scan(node: Node, body: Any, count: int) -> list[Value]:
    """Convert the older form, whose first input is lengths, and whose values have a batch."""
    if node.inputs[0] is not None:
        raise LimitationError("sequences of different lengths are not supported")
    values = list(node.inputs[1:])
    states = len(values) - count
    directions = node.attributes.get("directions") or [0] * count
    results: list[list[Value]] = []
    for number in range(values[0].shape[0]):
        parts = [index_axis(each, 0, number) for each in values]
        options = {"scan_input_directions": directions}
        results.append(_scanned(node, body, parts[:states], parts[states:], options))
    return [stack(list(each), 0) for each in zip(*results, strict=True)]
