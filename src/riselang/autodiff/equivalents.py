"""Programs that compute what a pattern computes, by patterns whose derivatives have rules."""

from __future__ import annotations

from riselang.autodiff.building import Builder, length_of
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
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


def chunked_reduction(length: int, type: RiseType) -> Term:
    """Return a function that computes `reducePar`: each chunk is reduced from the start, and so
    are the results of all chunks."""
    builder = Builder()
    chunk = patterns.CHUNK_LENGTH
    whole, left = Nat.const(length // chunk), Nat.const(length % chunk)

    def body(function: Node, start: Node, xs: Node) -> Node:
        def reduce_chunk(part: Node) -> Node:
            return builder.reduce(function, start, part)

        front = builder.take(whole * chunk, xs)
        results = builder.map(reduce_chunk, builder.split(Nat.const(chunk), whole, front))
        if left != Nat.const(0):
            rest = reduce_chunk(builder.drop(whole * chunk, xs))
            results = builder.concat(results, builder.singleton(rest))
        return builder.reduce(function, start, results)

    types = [fun(type, type, type), type, array(length, type)]
    function = builder.function(types, ["f", "start", "xs"], body)
    function.scope = None
    return finish(function)


def sorted_scatter(length: Nat, count: Nat, type: RiseType) -> Term:
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
    if isinstance(chosen.type, IdxType):
        numbers = [builder.from_idx(each) for each in (chosen, other)]
        return builder.clamp_idx(chosen.type.bound, builder.select(condition, *numbers))
    if not isinstance(chosen.type, ArrayType):
        return builder.select(condition, chosen, other)
    pairs = builder.zip_all([chosen, other])
    return builder.map(
        lambda both: _select_value(builder, condition, builder.first(both), builder.second(both)),
        pairs,
    )
