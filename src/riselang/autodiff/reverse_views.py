"""Cotangents of views: the transposition of a view is a view, or adds at indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from riselang.autodiff.building import Builder
from riselang.autodiff.contributions import Contribution, Nest, Sparse, nest_at, nest_of
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Entry
from riselang.autodiff.loops import Label
from riselang.autodiff.reverse import Reverse, rule
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    element_of,
    idx,
    index,
    leaves,
)
from riselang.nat import Nat
from riselang.term.build import Node
from riselang.term.nodes import Pattern

MAX_UNROLLED_WINDOW = 16
"""The largest window whose elements are added by one expression."""
Transposition = Callable[[Reverse, Entry, Node], Node]
"""Returns the cotangent of the operand of a view, given that of the result."""


def _count(type: RiseType) -> int:
    return len(list(leaves(type)))


def _operands(entry: Entry) -> list[Entry]:
    return [cast(Entry, operand) for operand in entry.operands]


def size(entry: Entry, name: str) -> Nat:
    """Return a size of the pattern that computes an entry."""
    assert isinstance(entry.operation, Pattern)
    return entry.operation.sizes[name]


@rule(
    patterns.TO_MEM, patterns.UNZIP, patterns.PREFETCH, patterns.NONTEMPORAL, patterns.SHARD,
)  # fmt: skip
def _same(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """The scalars of the operand are those of the result, in the same order."""
    cotangents.add(entry.operands[-1], leaves)


@rule(patterns.ZIP, patterns.TUPLE)
def _pair(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    first, second = _operands(entry)
    count = _count(first.type)
    cotangents.add(first, leaves[:count])
    cotangents.add(second, leaves[count:])


@rule(patterns.FST, patterns.SND)
def _component(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    (pair,) = _operands(entry)
    others = [None] * (_count(pair.type) - len(leaves))
    is_first = entry.spec is patterns.FST
    cotangents.add(pair, [*leaves, *others] if is_first else [*others, *leaves])


@rule(patterns.TRANSPOSE)
def _transpose(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    def swap(leaf: Contribution) -> Contribution:
        nest = reverse.nests.as_nest(leaf)
        first, second, *others = nest.labels
        return replace(nest, labels=(second, first, *others))

    cotangents.add(entry.operands[0], [None if leaf is None else swap(leaf) for leaf in leaves])


def _view(*specs: PatternSpec) -> Callable[[Transposition], None]:
    """Register a view whose transposition is a function on arrays."""

    def register(function: Transposition) -> None:
        def propagate(
            reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves
        ) -> None:
            outer = reverse.map_leaves(leaves, lambda node: function(reverse, entry, node))
            cotangents.add(entry.operands[-1], outer)

        rule(*specs)(propagate)

    return register


@rule(patterns.SPLIT)
def _split(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    def join(leaf: Contribution) -> Contribution:
        if isinstance(leaf, Nest):
            outer, inner, *others = leaf.labels
            for label, other in ((outer, inner), (inner, outer)):
                if label.length == Nat.const(1) and not _reads(leaf, [label]):
                    return replace(leaf, labels=(other, *others))
            if (joined := reverse.nests.merge(leaf, outer, inner)) is not None:
                return joined
        return nest_of(reverse.builder, reverse.builder.join(reverse.nests.dense(leaf)))

    cotangents.add(entry.operands[0], [None if leaf is None else join(leaf) for leaf in leaves])


@rule(patterns.JOIN)
def _join(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    count, chunk = size(entry, "n"), size(entry, "m")

    def split(leaf: Contribution) -> Contribution:
        nest = reverse.nests.as_nest(leaf)
        return reverse.nests.split_axis(nest, nest.labels[0], Label(count), Label(chunk))

    cotangents.add(entry.operands[0], [None if leaf is None else split(leaf) for leaf in leaves])


def _reads(nest: Nest, labels: Sequence[Label]) -> bool:
    """Return whether the elements of a nest differ along one of these axes."""
    return any(label in read.labels for read in nest.reads for label in labels)


@_view(patterns.REVERSE)
def _reverse(reverse: Reverse, entry: Entry, node: Node) -> Node:
    return reverse.builder.reverse(node)


@_view(patterns.TAKE)
def _take(reverse: Reverse, entry: Entry, node: Node) -> Node:
    return reverse.builder.pad_zeros(Nat.const(0), size(entry, "n"), node)


@_view(patterns.DROP)
def _drop(reverse: Reverse, entry: Entry, node: Node) -> Node:
    return reverse.builder.pad_zeros(size(entry, "k"), Nat.const(0), node)


@rule(patterns.CONCAT)
def _concat(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    builder, count = reverse.builder, size(entry, "n")
    first, second = _operands(entry)
    if first.is_active:
        cotangents.add(first, reverse.map_leaves(leaves, lambda xs: builder.take(count, xs)))
    if second.is_active:
        cotangents.add(second, reverse.map_leaves(leaves, lambda xs: builder.drop(count, xs)))


@rule(patterns.PAD_CONST)
def _pad_const(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    builder = reverse.builder
    left, length, right = (size(entry, name) for name in ("l", "n", "r"))
    value, xs = _operands(entry)

    def middle(node: Node) -> Node:
        return builder.take(length, builder.drop(left, node))

    def ends(node: Node) -> Node:
        parts = [(left, builder.take(left, node)), (right, builder.drop(left + length, node))]
        sums = [_sum_rows(reverse, part) for size, part in parts if size != Nat.const(0)]
        result = sums[0]
        for other in sums[1:]:
            result = builder.add_arrays(result, other)
        return result

    if xs.is_active:
        cotangents.add(xs, reverse.map_leaves(leaves, middle))
    if value.is_active and left + right != Nat.const(0):
        cotangents.add(value, reverse.map_leaves(leaves, ends))


def _sum_rows(reverse: Reverse, xs: Node) -> Node:
    """Add the elements of an array, which may be arrays."""
    nest = nest_of(reverse.builder, xs)
    label, *labels = nest.labels
    return reverse.nests.dense(Nest(tuple(labels), nest.body, nest.reads, (label,)))


@rule(patterns.PAD, patterns.PAD_WRAP, patterns.PAD_REFLECT, patterns.REORDER, patterns.SLICE_AT)
def _indexed_view(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """Add the cotangents of a view at the indices that it reads: the view of all indices."""
    xs = entry.operands[-1]
    assert isinstance(xs, Entry)
    _add_at(reverse, cotangents, xs, _view_of_indices(reverse, entry), leaves)


def _view_of_indices(reverse: Reverse, entry: Entry) -> Node:
    """Apply the view to the array of all indices."""
    builder, pattern = reverse.builder, entry.operation
    assert isinstance(pattern, Pattern)
    xs = entry.operands[-1]
    assert isinstance(xs, Entry)
    length = cast(ArrayType, xs.type).length
    sizes = [idx(length) if name == "t" else pattern.argument(name)
             for name in pattern.spec.parameters]  # fmt: skip
    given = entry.nodes[:-1]
    return builder.apply(pattern.spec, sizes, *given, builder.indices(length))


def _add_at(
    reverse: Reverse, cotangents: Cotangents, xs: Entry, indices: Node, leaves: Leaves
) -> None:
    """Add cotangents of elements to the cotangent of an array, at these indices."""
    bound = cast(IdxType, element_of(indices.type)).bound
    results: list[Contribution | None] = []
    for leaf in leaves:
        if leaf is None:
            results.append(None)
            continue
        value = reverse.nests.as_dense_nest(leaf)
        label = value.labels[0]
        position = nest_at(reverse.builder, indices, (label,))
        results.append(Sparse((label,), (position,), (bound,), value))
    cotangents.add(xs, results)


@rule(patterns.GATHER)
def _gather(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    indices, xs = _operands(entry)
    _add_at(reverse, cotangents, xs, indices.node, leaves)


@rule(patterns.AT)
def _at(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    position, xs = _operands(entry)
    bound = size(entry, "n")
    own = nest_at(reverse.builder, position.node, ())
    results: list[Contribution | None] = []
    for leaf in leaves:
        if leaf is None:
            results.append(None)
        elif bound == Nat.const(1):
            nest = reverse.nests.as_nest(leaf)
            results.append(replace(nest, labels=(Label(bound), *nest.labels)))
        elif isinstance(leaf, Sparse):
            loops = leaf.loops
            outer = Nest(loops, own.body, own.reads)
            results.append(Sparse(loops, (outer, *leaf.indices), (bound, *leaf.bounds), leaf.value))
        else:
            results.append(Sparse((), (own,), (bound,), reverse.nests.as_dense_nest(leaf)))
    cotangents.add(xs, results)


@rule(patterns.SLIDE)
def _slide(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    if size(entry, "sp") == Nat.const(1):
        windows = reverse.map_leaves(leaves, lambda node: add_windows(reverse, entry, node))
        cotangents.add(entry.operands[0], windows)
        return
    indices = reverse.builder.join(_view_of_indices(reverse, entry))
    xs = entry.operands[0]
    assert isinstance(xs, Entry)
    flat = reverse.map_leaves(leaves, reverse.builder.join)
    _add_at(reverse, cotangents, xs, indices, flat)


def add_windows(reverse: Reverse, entry: Entry, node: Node) -> Node:
    """Add overlapping windows: element i is the sum of element j of window i - j for all j."""
    length = size(entry, "sz")
    if length.is_constant and length.constant <= MAX_UNROLLED_WINDOW:
        return _add_shifted_columns(reverse, length.constant, node)
    builder = reverse.builder
    padded = builder.pad_zeros(length - 1, length - 1, node)
    sizes = [size(entry, "n") + length - 1, length, Nat.const(1), element_of(node.type)]
    windows = builder.apply(patterns.SLIDE, sizes, padded)

    def diagonal(window: Node) -> Node:
        rows = builder.reverse(window)
        return _sum_rows(
            reverse, builder.generate(length, lambda j: builder.at(j, builder.at(j, rows)))
        )

    return builder.map(diagonal, windows)


def _add_shifted_columns(reverse: Reverse, length: int, windows: Node) -> Node:
    """Add the arrays of the elements j of all windows, each shifted by j."""
    builder = reverse.builder

    def shifted(j: int) -> Contribution:
        position = builder.clamp_idx(Nat.const(length), builder.number(j, index))
        column = builder.map(lambda window: builder.at(position, window), windows)
        padded = builder.pad_zeros(Nat.const(j), Nat.const(length - 1 - j), column)
        return nest_of(builder, padded)

    total = reverse.nests.total([shifted(j) for j in range(length)])
    return builder.store(reverse.nests.dense(total))


@rule(patterns.UPDATE_AT)
def _update_at(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    builder, position = reverse.builder, entry.operands[0]
    _, new, xs = _operands(entry)
    assert isinstance(position, Entry)
    count, rest = size(entry, "k"), size(entry, "n")

    def clear(node: Node) -> Node:
        element = element_of(node.type)
        zeros = builder.generate(count, lambda _: builder.zeros(element))
        sizes = [count, rest, element]
        return builder.apply(patterns.UPDATE_AT, sizes, position.node, zeros, node)

    def slice_new(node: Node) -> Node:
        sizes = [count, rest, element_of(node.type)]
        return builder.apply(patterns.SLICE_AT, sizes, position.node, node)

    if xs.is_active:
        cotangents.add(xs, reverse.map_leaves(leaves, clear))
    if new.is_active:
        cotangents.add(new, reverse.map_leaves(leaves, slice_new))


@rule(patterns.SCATTER)
def _scatter(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    builder = reverse.builder
    indices, start, values = _operands(entry)
    count, length = size(entry, "m"), size(entry, "n")

    def clear(node: Node) -> Node:
        element = element_of(node.type)
        zeros = builder.generate(count, lambda _: builder.zeros(element))
        sizes = [length, count, element]
        return builder.apply(patterns.SCATTER, sizes, indices.node, node, zeros)

    if start.is_active:
        cotangents.add(start, reverse.map_leaves(leaves, clear))
    if values.is_active:
        writers = last_writers(reverse, indices.node, length)
        read = reverse.map_leaves(leaves, lambda node: _read_if_last(reverse, writers, node))
        cotangents.add(values, read)


def last_writers(reverse: Reverse, indices: Node, length: Nat) -> Node:
    """Return for each value that a scatter writes its index, and whether no later value overwrites
    it."""
    builder = reverse.builder
    count = cast(ArrayType, indices.type).length
    numbers = builder.map(builder.from_idx, builder.indices(count), "i")
    none = builder.map(builder.from_idx, builder.indices(length), "i")
    number = element_of(numbers.type)
    writers = builder.apply(patterns.SCATTER, [length, count, number], indices, none, numbers)
    last = builder.gather(indices, writers)
    is_last = builder.map(
        lambda both: builder.compare("eq", builder.first(both), builder.second(both)),
        builder.zip_all([last, numbers]),
    )
    return builder.zip_all([indices, is_last])


def _read_if_last(reverse: Reverse, writers: Node, node: Node) -> Node:
    builder = reverse.builder

    def read(writer: Node) -> Node:
        value = builder.at(builder.first(writer), node)
        condition = builder.second(writer)
        return builder.map_scalars(
            lambda x: builder.select(condition, x, builder.zeros(x.type)), value
        )

    return builder.map(read, writers)


@rule(patterns.SORT)
def _sort(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    xs = entry.operands[-1]
    assert isinstance(xs, Entry)
    _add_at(reverse, cotangents, xs, sorted_positions(reverse.builder, entry), leaves)


def sorted_positions(builder: Builder, entry: Entry) -> Node:
    """Return the indices of the elements of an array in sorted order."""
    xs, function = entry.operands[-1], entry.nodes[0]
    assert isinstance(xs, Entry)
    length = size(entry, "n")
    pairs = builder.zip_all([xs.node, builder.indices(length)])
    pair = element_of(pairs.type)
    before = builder.function(
        [pair, pair], ["a", "b"],
        lambda a, b: builder.call(function, [builder.first(a), builder.first(b)]),
    )  # fmt: skip
    result = builder.apply(patterns.SORT, [length, pair], before, pairs)
    return builder.second(builder.unzip(result))
