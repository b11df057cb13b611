"""Cotangents of loops: maps, reductions, scans and iterations."""

from __future__ import annotations

from typing import cast

from riselang.autodiff.accumulations import (
    Accumulation,
    added_element,
    dense_floats,
    extremal_element,
    float_nests,
)
from riselang.autodiff.building import scalar_of
from riselang.autodiff.contributions import Contribution, Nest, nest_of, relabel
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.equivalents import chunked_reduction
from riselang.autodiff.evaluation import (
    Closure,
    Entry,
    Record,
    Value,
    captured_values,
    float_leaves,
    names_of,
)
from riselang.autodiff.loops import Label
from riselang.autodiff.reverse import Evaluate, Reverse, apply_function, rule
from riselang.autodiff.reverse_views import add_windows, size
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import index
from riselang.nat import Nat
from riselang.term.build import Node

MAPS = (
    patterns.MAP,
    patterns.MAP_SEQ,
    patterns.MAP_PAR,
    patterns.MAP_SEQ_UNROLL,
    patterns.MAP_BLOCK,
    patterns.MAP_THREAD,
    patterns.MAP_WARP,
    patterns.MAP_LANE,
    patterns.MAP_RANK,
)
REDUCTIONS = (
    patterns.REDUCE,
    patterns.REDUCE_SEQ,
    patterns.REDUCE_SEQ_UNROLL,
    patterns.REDUCE_RANK,
)
SCANS = (patterns.SCAN, patterns.SCAN_SEQ)
ITERATIONS = (patterns.ITERATE, patterns.ITERATE_SEQ)
WINDOW_BUFFERS = (patterns.CIRCULAR_BUFFER, patterns.ROTATE_VALUES)


@rule(*MAPS)
def _map(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    function, xs = entry.operands
    assert isinstance(xs, Entry)
    names = names_of(cast(Closure, function), 1)
    reverse.loop(
        cotangents, size(entry, "n"), [xs], apply_function(function), leaves, names, entry.node
    )


@rule(*WINDOW_BUFFERS)
def _windows(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """The windows of a mapped array."""
    function, xs = entry.operands
    assert isinstance(xs, Entry)
    mapped = reverse.map_leaves(leaves, lambda node: add_windows(reverse, entry, node))
    length = size(entry, "n") + size(entry, "sz") - 1
    reverse.loop(cotangents, length, [xs], apply_function(function), mapped)


@rule(patterns.GENERATE)
def _generate(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    (function,) = entry.operands
    length = size(entry, "n")
    indices = Entry(reverse.index_array(length))
    reverse.loop(cotangents, length, [indices], apply_function(function), leaves, ["i"], entry.node)


@rule(*REDUCTIONS)
def _reduce(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    function, start, xs = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)
    length = size(entry, "n")
    if (element := added_element(function)) is not None:
        cotangents.add(start, leaves)
        repeated = [None if leaf is None else _repeat(reverse, leaf, length) for leaf in leaves]
        reverse.loop(cotangents, length, [xs], element, repeated)
    elif (element := extremal_element(function)) is not None:
        _reduce_to_extremum(reverse, cotangents, entry, leaves, element)
    else:
        Accumulation(reverse, function, start, xs, length, entry).propagate(cotangents, leaves)


@rule(patterns.REDUCE_PAR)
def _reduce_chunks(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    if not size(entry, "n").is_constant:
        _reduce(reverse, cotangents, entry, leaves)
        return
    record = Record(reverse.builder)
    cotangents.add(record.apply(chunks_of(entry), entry.operands), leaves)
    reverse.run(record, cotangents)


def chunks_of(entry: Entry) -> Closure:
    """Return the function that computes a parallel reduction by sequential ones."""
    start = entry.operands[1]
    assert isinstance(start, Entry)
    return Closure(chunked_reduction(size(entry, "n").constant, start.type), None)


def _repeat(reverse: Reverse, leaf: Contribution, length: Nat) -> Contribution:
    """Return an array whose elements are all equal to a value."""
    nest = reverse.nests.as_dense_nest(leaf)
    if not nest.labels:
        nest = nest_of(reverse.builder, reverse.nests.dense(nest))
    nest = relabel(nest, tuple(Label(label.length) for label in nest.labels))
    return Nest((Label(length), *nest.labels), nest.body, nest.reads)


def _reduce_to_extremum(
    reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves, element: Evaluate
) -> None:
    """Divide the cotangent of a maximum or minimum among all elements that are equal to it."""
    builder = reverse.builder
    _, start, xs = entry.operands
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)
    (leaf,) = leaves
    if leaf is None:
        return
    one = builder.number(1, scalar_of(start.type))

    def select_extremum(x: Node, chosen: Node) -> Node:
        condition = builder.compare("eq", x, entry.node)
        return builder.select(condition, chosen, builder.zeros(start.type))

    def count(x: Node) -> Node:
        value = element(Record(builder), [Entry(x)])
        assert isinstance(value, Entry)
        return select_extremum(value.node, one)

    total = builder.add(builder.sum(builder.map(count, xs.node)), select_extremum(start.node, one))
    share = builder.divide(reverse.nests.dense(leaf), total)
    cotangents.add(start, [nest_of(builder, select_extremum(start.node, share))])
    reverse.loop(
        cotangents, size(entry, "n"), [xs], element,
        lambda result: [nest_of(builder, select_extremum(result.node, share))],
    )  # fmt: skip


@rule(*SCANS)
def _scan(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    function, start, xs = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    assert isinstance(xs, Entry)
    length = size(entry, "n")
    Accumulation(reverse, function, start, xs, length, entry).propagate(cotangents, leaves)


@rule(*ITERATIONS)
def _iterate(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """An iteration is a reduction that does not read its elements."""
    function, start = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    count = size(entry, "k")
    indices = Entry(reverse.builder.indices(count))
    accumulation = Accumulation(
        reverse, function, start, indices, count, entry, reads_element=False
    )
    accumulation.propagate(cotangents, leaves)


@rule(patterns.IF_AT_LEAST)
def _if_at_least(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """Compute the cotangents of all values that the two functions read, by a choice between two
    functions."""
    builder = reverse.builder
    branches = [cast(Closure, operand) for operand in entry.operands]
    targets = list(dict.fromkeys(each for branch in branches for each in active_entries(branch)))

    def propagate(branch: Closure, size: Node) -> Node:
        record, inner = Record(builder), Cotangents()
        inner.add(record.apply(branch, [Entry(size)]), leaves)
        reverse.run(record, inner)
        parts: list[Node] = []
        for target in targets:
            totals = reverse.totals(inner.pop(target) or [])
            parts += dense_floats(reverse, target.type, totals)
        return builder.tuple(parts)

    functions = [
        builder.function([index], ["size"], lambda size, branch=branch: propagate(branch, size))
        for branch in branches
    ]
    type = functions[0].body.type
    sizes = [size(entry, "n"), size(entry, "k"), type]
    chosen = builder.apply(patterns.IF_AT_LEAST, sizes, *functions)
    counts = [sum(float_leaves(target.type)) for target in targets]
    parts = iter(builder.unpack(chosen, sum(counts)))
    for target, count in zip(targets, counts, strict=True):
        nodes = [next(parts) for _ in range(count)]
        cotangents.add(target, float_nests(builder, target.type, nodes))


def active_entries(function: Closure) -> list[Entry]:
    """Return the active values that a function reads, also through functions that it calls."""
    entries: list[Entry] = []
    stack: list[Value] = [function]
    while stack:
        value = stack.pop()
        if isinstance(value, Closure):
            stack.extend(captured_values(value))
        elif value.is_active:
            entries.append(value)
    return entries
