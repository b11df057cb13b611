"""Cotangents of `scatterWith`."""

from __future__ import annotations

from riselang.autodiff.accumulations import is_addition, is_extremum
from riselang.autodiff.building import Builder, scalar_of
from riselang.autodiff.contributions import nest_of
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.equivalents import sorted_scatter
from riselang.autodiff.evaluation import Closure, Entry, Record
from riselang.autodiff.reverse import Reverse, rule
from riselang.autodiff.reverse_views import size
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import (
    element_of,
)
from riselang.term.build import Node


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


def select_equal(builder: Builder, xs: Node, results: Node, parts: Node | None) -> Node:
    """Return the parts, or ones, where two arrays are equal, and zeros elsewhere."""
    arrays = [xs, results] if parts is None else [xs, results, parts]

    def select(elements: Node) -> Node:
        x, result, *part = builder.unpack(elements, len(arrays))
        is_equal = builder.compare("eq", x, result)
        chosen = part[0] if part else builder.number(1, scalar_of(x.type))
        return builder.select(is_equal, chosen, builder.zeros(x.type))

    return builder.map(select, builder.zip_all(arrays))


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
    own = builder.gather(indices.node, entry.node)
    counts = builder.scatter_add(
        indices.node, select_equal(builder, start.node, entry.node, None),
        select_equal(builder, values.node, own, None),
    )  # fmt: skip
    shares = builder.store(
        builder.map(
            lambda both: builder.divide(builder.first(both), builder.second(both)),
            builder.zip_all([reverse.nests.dense(leaf), counts]),
        )
    )
    if start.is_active:
        part = select_equal(builder, start.node, entry.node, shares)
        cotangents.add(start, [nest_of(builder, part)])
    if values.is_active:
        part = select_equal(builder, values.node, own, builder.gather(indices.node, shares))
        cotangents.add(values, [nest_of(builder, part)])


def _combine_in_order(
    reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves
) -> None:
    """Propagate cotangents through a program that computes the same, in the same order: a scan
    over the values, sorted by their indices."""
    _, indices, start, _ = entry.operands
    assert isinstance(indices, Entry)
    assert isinstance(start, Entry)
    program = sorted_scatter(size(entry, "n"), size(entry, "m"), element_of(start.type))
    record = Record(reverse.builder)
    cotangents.add(record.apply(Closure(program, None), entry.operands), leaves)
    reverse.run(record, cotangents)
