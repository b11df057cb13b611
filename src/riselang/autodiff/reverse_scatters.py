"""Cotangents of `scatterWith`."""

from __future__ import annotations

from riselang.autodiff.accumulations import is_addition, is_extremum
from riselang.autodiff.building import Builder, length_of, scalar_of
from riselang.autodiff.contributions import nest_of
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Closure, Entry, Record
from riselang.autodiff.reverse import Reverse, rule
from riselang.autodiff.reverse_views import size
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    TupleType,
    array,
    element_of,
    fun,
    idx,
    index,
)
from riselang.nat import Nat
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term


@rule(patterns.SCATTER_WITH)
def _scatter_with(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    function, indices, start, values = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(indices, Entry)
    if is_extremum(function):
        _scatter_extrema(reverse, cotangents, entry, leaves)
        return
    if not is_addition(function):
        _combine_in_order(reverse, cotangents, entry, leaves)
        return
    cotangents.add(start, leaves)
    if values.is_active:
        gathered = reverse.map_leaves(
            leaves, lambda node: reverse.builder.gather(indices.node, node)
        )
        cotangents.add(values, gathered)


def _scatter_extrema(
    reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves
) -> None:
    """Divide the cotangent of each element among all values that are equal to it."""
    builder = reverse.builder
    _, indices, start, values = entry.operands
    assert isinstance(indices, Entry)
    assert isinstance(start, Entry)
    assert isinstance(values, Entry)
    (leaf,) = leaves
    if leaf is None:
        return
    one = builder.number(1, scalar_of(start.type))

    def select_equal(xs: Node, results: Node, parts: Node | None) -> Node:
        """Return the parts, or ones, where two arrays are equal, and zeros elsewhere."""
        arrays = [xs, results] if parts is None else [xs, results, parts]

        def select(elements: Node) -> Node:
            x, result, *part = builder.unpack(elements, len(arrays))
            is_equal = builder.compare("eq", x, result)
            chosen = part[0] if part else one
            return builder.select(is_equal, chosen, builder.zeros(x.type))

        return builder.map(select, builder.zip_all(arrays))

    own = builder.gather(indices.node, entry.node)
    counts = builder.scatter_add(
        indices.node, select_equal(start.node, entry.node, None),
        select_equal(values.node, own, None),
    )  # fmt: skip
    shares = builder.store(
        builder.map(
            lambda both: builder.divide(builder.first(both), builder.second(both)),
            builder.zip_all([reverse.nests.dense(leaf), counts]),
        )
    )
    if start.is_active:
        part = select_equal(start.node, entry.node, shares)
        cotangents.add(start, [nest_of(builder, part)])
    if values.is_active:
        part = select_equal(values.node, own, builder.gather(indices.node, shares))
        cotangents.add(values, [nest_of(builder, part)])


def _combine_in_order(
    reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves
) -> None:
    """Propagate cotangents through a program that computes the same, in the same order: a scan
    over the values, sorted by their indices."""
    _, indices, start, _ = entry.operands
    assert isinstance(indices, Entry)
    assert isinstance(start, Entry)
    program = _sorted_program(size(entry, "n"), size(entry, "m"), element_of(start.type))
    record = Record(reverse.builder)
    cotangents.add(record.apply(Closure(program, None), entry.operands), leaves)
    reverse.run(record, cotangents)


def _sorted_program(length: Nat, count: Nat, type: RiseType) -> Term:
    """Return a function that computes `scatterWith`.

    The sort is stable, so a scan over the sorted values combines those of each index in their
    order, and the last one that `scatter` writes is the result.
    """
    builder = Builder()

    def body(function: Node, indices: Node, start: Node, values: Node) -> Node:
        order = _sort_by_index(builder, builder.zip_all([indices, builder.indices(count)]))
        targets, positions = builder.unzip_all(order, 2)

        def step(state: Node, element: Node) -> Node:
            last, total = builder.unpack(state, 2)
            target, first, value = builder.unpack(element, 3)
            current = builder.from_idx(target)
            is_next = builder.compare("eq", last, current)
            old = _select_value(builder, is_next, total, first)
            return builder.pair(current, builder.call(function, [old, value]))

        elements = builder.zip_all(
            [targets, builder.gather(targets, start), builder.gather(positions, values)]
        )
        before = builder.pair(builder.number(-1, index), builder.zeros(type))
        steps = builder.function([before.type, element_of(elements.type)], ["state", "x"], step)
        results = builder.unzip_all(builder.scan(steps, before, elements), 2)[1]
        return builder.apply(patterns.SCATTER, [length, count, type], targets, start, results)

    types = [
        fun(type, type, type),
        array(count, idx(length)),
        array(length, type),
        array(count, type),
    ]
    names = ["f", "indices", "start", "values"]
    function = builder.function(types, names, body)
    function.scope = None
    return finish(function)


def _sort_by_index(builder: Builder, pairs: Node) -> Node:
    """Sort pairs by the indices that are their first components."""
    element = element_of(pairs.type)

    def is_before(left: Node, right: Node) -> Node:
        keys = [builder.from_idx(builder.first(each)) for each in (left, right)]
        return builder.compare("lt", *keys)

    function = builder.function([element, element], ["a", "b"], is_before)
    return builder.apply(patterns.SORT, [length_of(pairs), element], function, pairs)


def _select_value(builder: Builder, condition: Node, chosen: Node, other: Node) -> Node:
    """Choose between two values of any type."""
    if isinstance(chosen.type, TupleType):
        parts = [
            _select_value(builder, condition, part(chosen), part(other))
            for part in (builder.first, builder.second)
        ]
        return builder.pair(*parts)
    if not isinstance(chosen.type, ArrayType):
        return builder.select(condition, chosen, other)
    pairs = builder.zip_all([chosen, other])
    return builder.map(
        lambda both: _select_value(builder, condition, builder.first(both), builder.second(both)),
        pairs,
    )
