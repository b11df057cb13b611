"""Tangents of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from riselang.autodiff.accumulations import (
    added_element,
    extremal_element,
    float_types,
    is_addition,
    is_extremum,
)
from riselang.autodiff.building import Builder, scalar_of
from riselang.autodiff.evaluation import Closure, Entry, Record, Value, float_leaves
from riselang.autodiff.forward import Forward, Tangent, Tangents, rule
from riselang.autodiff.forward_views import apply_to_leaves, tangent_leaves
from riselang.autodiff.loops import Loop
from riselang.autodiff.reverse import Evaluate, apply_function
from riselang.autodiff.reverse_loops import (
    ITERATIONS,
    MAPS,
    REDUCTIONS,
    SCANS,
    WINDOW_BUFFERS,
    chunks_of,
)
from riselang.autodiff.reverse_scatters import select_equal
from riselang.autodiff.reverse_views import size
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import element_of, index
from riselang.nat import Nat
from riselang.term.build import Node


def map_tangent(
    forward: Forward,
    tangents: Tangents,
    length: Nat,
    xs: Entry,
    evaluate: Evaluate,
) -> Tangent:
    """Return the tangent of a map, by a map over the elements and their tangents."""
    builder, loop = forward.builder, Loop(forward.builder, length)
    with builder.in_scope(loop.scope):
        element = Entry(loop.element(xs.node), xs.active)
        tangent = [
            None if leaf is None else loop.element(leaf, "dx")
            for leaf in tangent_leaves(tangents, xs)
        ]
        record = Record(builder)
        result = evaluate(record, [element])
        known = forward.run(record, {**tangents, element: tangent})
        assert isinstance(result, Entry)
        leaves = tangent_leaves(known, result)
    arrays = iter(loop.map_all([leaf for leaf in leaves if leaf is not None]))
    return [None if leaf is None else next(arrays) for leaf in leaves]


@rule(*MAPS)
def _map(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, xs = entry.operands
    assert isinstance(xs, Entry)
    return map_tangent(forward, tangents, size(entry, "n"), xs, apply_function(function))


@rule(*WINDOW_BUFFERS)
def _windows(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, xs = entry.operands
    assert isinstance(xs, Entry)
    count, length = size(entry, "n"), size(entry, "sz")
    mapped = map_tangent(forward, tangents, count + length - 1, xs, apply_function(function))

    def slide(node: Node) -> Node:
        sizes = [count, length, Nat.const(1), element_of(node.type)]
        return forward.builder.apply(patterns.SLIDE, sizes, node)

    return [None if leaf is None else slide(leaf) for leaf in mapped]


@rule(patterns.GENERATE)
def _generate(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    length = size(entry, "n")
    indices = Entry(forward.builder.indices(length))
    return map_tangent(forward, tangents, length, indices, apply_function(entry.operands[0]))


class _Steps:
    """A loop whose state is a value and its tangent."""

    def __init__(self, forward: Forward, tangents: Tangents, start: Entry):
        self.forward = forward
        self.builder: Builder = forward.builder
        self.tangents = tangents
        self.type = start.type
        self.count = len(float_types(start.type))
        self.start = self.pack(start.node, tangent_leaves(tangents, start))

    def pack(self, value: Node, tangent: Tangent) -> Node:
        """Return a value and the tangents of all of its floats."""
        types = iter(float_types(self.type))
        parts: list[Node] = []
        for leaf, has_float in zip(tangent, float_leaves(self.type), strict=True):
            if has_float:
                type = next(types)
                parts.append(self.builder.zeros(type) if leaf is None else leaf)
        return self.builder.tuple([value, *parts])

    def unpack(self, state: Node) -> tuple[Entry, Tangent]:
        value, *parts = self.builder.unpack(state, 1 + self.count)
        given = iter(parts)
        tangent = [next(given) if has_float else None for has_float in float_leaves(self.type)]
        return Entry(value, float_leaves(self.type)), tangent

    def advance(
        self, state: Node, apply: Callable[[Record, Entry], Value], others: Tangents
    ) -> Node:
        """Return the state after a step."""
        total, tangent = self.unpack(state)
        record = Record(self.builder)
        result = apply(record, total)
        known = self.forward.run(record, {**self.tangents, **others, total: tangent})
        assert isinstance(result, Entry)
        return self.pack(result.node, tangent_leaves(known, result))

    def tangent(self, state: Node) -> Tangent:
        return self.unpack(state)[1]


@rule(*REDUCTIONS)
def _reduce(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, start, xs = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)
    if (element := added_element(function)) is not None:
        (terms,) = map_tangent(forward, tangents, size(entry, "n"), xs, element)
        (first,) = tangent_leaves(tangents, start)
        return [_sum_from(forward.builder, first, terms)]
    if (element := extremal_element(function)) is not None:
        return [_extremum_tangent(forward, tangents, entry, element)]
    steps, step, elements = _steps(forward, tangents, function, start, xs)
    return steps.tangent(forward.builder.reduce(step, steps.start, elements))


@rule(patterns.REDUCE_PAR)
def _reduce_chunks(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    if not size(entry, "n").is_constant:
        return _reduce(forward, tangents, entry)
    record = Record(forward.builder)
    result = record.apply(chunks_of(entry), entry.operands)
    assert isinstance(result, Entry)
    return tangent_leaves(forward.run(record, tangents), result)


def _sum_from(builder: Builder, start: Node | None, terms: Node | None) -> Node | None:
    if start is None or terms is None:
        return start if terms is None else builder.sum(terms)
    return builder.add(start, builder.sum(terms))


def _extremum_tangent(
    forward: Forward, tangents: Tangents, entry: Entry, element: Evaluate
) -> Node:
    """Return the mean tangent of the start and the elements that are equal to the result."""
    builder = forward.builder
    _, start, xs = entry.operands
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)

    def value_of(x: Node) -> Node:
        value = element(Record(builder), [Entry(x)])
        assert isinstance(value, Entry)
        return value.node

    values = builder.map(value_of, xs.node)
    zero = builder.zeros(start.type)
    one = builder.number(1, scalar_of(start.type))

    def chosen(value: Node, other: Node) -> Node:
        return builder.select(builder.compare("eq", value, entry.node), other, zero)

    def total(first: Node | None, terms: Node | None) -> Node:
        own = zero if first is None else chosen(start.node, first)
        if terms is None:
            return own
        pairs = builder.zip_all([values, terms])
        parts = builder.map(lambda p: chosen(builder.first(p), builder.second(p)), pairs)
        return builder.add(own, builder.sum(parts))

    count = builder.add(
        chosen(start.node, one), builder.sum(builder.map(lambda x: chosen(x, one), values))
    )
    (first,) = tangent_leaves(tangents, start)
    (terms,) = map_tangent(forward, tangents, size(entry, "n"), xs, element)
    return builder.divide(total(first, terms), count)


def _steps(
    forward: Forward, tangents: Tangents, function: Closure, start: Entry, xs: Entry
) -> tuple[_Steps, Node, Node]:
    """Return the steps of a reduction, their function, and the elements with their tangents."""
    builder, steps = forward.builder, _Steps(forward, tangents, start)
    leaves = tangent_leaves(tangents, xs)
    known = [leaf for leaf in leaves if leaf is not None]
    elements = builder.zip_all([xs.node, *known])

    def step(state: Node, each: Node) -> Node:
        value, *parts = builder.unpack(each, 1 + len(known))
        given = iter(parts)
        x = Entry(value, xs.active)
        tangent = [None if leaf is None else next(given) for leaf in leaves]
        return steps.advance(
            state, lambda record, total: record.apply(function, [total, x]), {x: tangent}
        )

    types = [steps.start.type, element_of(elements.type)]
    return steps, builder.function(types, ["state", "x"], step), elements


@rule(*SCANS)
def _scan(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, start, xs = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)
    builder = forward.builder
    steps, step, elements = _steps(forward, tangents, function, start, xs)
    states = builder.scan(step, steps.start, elements)
    _, *arrays = builder.unzip_all(states, 1 + steps.count)
    given = iter(arrays)
    return [next(given) if has_float else None for has_float in float_leaves(entry.type)]


@rule(*ITERATIONS)
def _iterate(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, start = entry.operands
    assert isinstance(start, Entry)
    steps = _Steps(forward, tangents, start)
    step = _unary_step(steps, function)
    state = steps.start.type
    result = forward.builder.apply(patterns.ITERATE, [size(entry, "k"), state], step, steps.start)
    return steps.tangent(result)


@rule(patterns.WHILE)
def _while(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    condition, function, start = entry.operands
    assert isinstance(condition, Closure)
    assert isinstance(start, Entry)
    builder, steps = forward.builder, _Steps(forward, tangents, start)

    def test(state: Node) -> Node:
        result = Record(builder).apply(condition, [steps.unpack(state)[0]])
        assert isinstance(result, Entry)
        return result.node

    state = steps.start.type
    conditions = builder.function([state], ["state"], test)
    result = builder.apply(
        patterns.WHILE, [state], conditions, _unary_step(steps, function), steps.start
    )
    return steps.tangent(result)


def _unary_step(steps: _Steps, function: Value) -> Node:
    return steps.builder.function(
        [steps.start.type], ["state"],
        lambda state: steps.advance(
            state, lambda record, total: record.apply(function, [total]), {}
        ),
    )  # fmt: skip


@rule(patterns.SCATTER_WITH)
def _scatter_with(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, indices, start, values = entry.operands
    assert isinstance(function, Closure)
    arrays = [cast(Entry, each) for each in (indices, start, values)]
    parts = [tangent_leaves(tangents, each) for each in arrays[1:]]
    builder = forward.builder
    if is_addition(function):
        given = entry.nodes[:2]
        return apply_to_leaves(forward, entry, given, parts)
    if is_extremum(function):
        return [_scattered_extremum_tangent(forward, entry, parts)]
    element = Entry(builder.variable(element_of(arrays[1].type), "x"), float_leaves(arrays[1].type))
    steps = _Steps(forward, {**tangents, element: [None] * len(parts[0])}, element)

    def packed(each: Entry, tangent: Tangent) -> Node:
        return _pack_array(steps, each, tangent)

    def combine(old: Node, new: Node) -> Node:
        x, tangent = steps.unpack(new)
        return steps.advance(
            old, lambda record, total: record.apply(function, [total, x]), {x: tangent}
        )

    state = steps.start.type
    step = builder.function([state, state], ["old", "new"], combine)
    sizes = [size(entry, "n"), size(entry, "m"), state]
    zipped = [packed(each, part) for each, part in zip(arrays[1:], parts, strict=True)]
    result = builder.apply(patterns.SCATTER_WITH, sizes, step, arrays[0].node, *zipped)
    _, *leaves = builder.unzip_all(result, 1 + steps.count)
    found = iter(leaves)
    return [next(found) if has_float else None for has_float in float_leaves(entry.type)]


def _scattered_extremum_tangent(forward: Forward, entry: Entry, parts: Sequence[Tangent]) -> Node:
    """Return the mean tangent, for each element, of those of its values that are equal to it."""
    builder = forward.builder
    _, indices, start, values = (cast(Entry, each) for each in entry.operands)
    own = builder.gather(indices.node, entry.node)

    def total(first: Node | None, others: Node | None) -> Node:
        """Add the parts of the values that are equal to their element."""
        begin = select_equal(builder, start.node, entry.node, first)
        return builder.scatter_add(
            indices.node, begin, select_equal(builder, values.node, own, others)
        )

    (first,), (others,) = parts
    zeros = builder.zeros(start.type) if first is None else first
    other_zeros = builder.zeros(values.type) if others is None else others
    pairs = builder.zip_all([total(zeros, other_zeros), total(None, None)])
    return builder.map(lambda p: builder.divide(builder.first(p), builder.second(p)), pairs)


def _pack_array(steps: _Steps, xs: Entry, tangent: Tangent) -> Node:
    """Zip an array with the tangents of the floats of its elements."""
    builder = steps.builder
    types = iter(float_types(xs.type))
    parts: list[Node] = []
    for leaf, has_float in zip(tangent, float_leaves(xs.type), strict=True):
        if has_float:
            type = next(types)
            parts.append(builder.zeros(type) if leaf is None else leaf)
    return builder.zip_all([xs.node, *parts])


@rule(patterns.IF_AT_LEAST)
def _if_at_least(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    builder = forward.builder

    def branch(function: Value, number: Node) -> Node:
        record = Record(builder)
        result = record.apply(function, [Entry(number)])
        known = forward.run(record, tangents)
        assert isinstance(result, Entry)
        steps = _Steps(forward, {result: [None] * len(float_leaves(result.type))}, result)
        return steps.pack(result.node, tangent_leaves(known, result))

    functions = [
        builder.function([index], ["size"], lambda number, each=each: branch(each, number))
        for each in entry.operands
    ]
    sizes = [size(entry, "n"), size(entry, "k"), functions[0].body.type]
    chosen = builder.apply(patterns.IF_AT_LEAST, sizes, *functions)
    _, *parts = builder.unpack(chosen, 1 + len(float_types(entry.type)))
    given = iter(parts)
    return [next(given) if has_float else None for has_float in float_leaves(entry.type)]
