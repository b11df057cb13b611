"""Operations on cotangents that are not computed yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from riselang.autodiff.building import Builder, nest_type, scalar_of
from riselang.autodiff.contributions import (
    Contribution,
    Nest,
    Read,
    Sparse,
    is_plain,
    is_single,
    nest_of,
    product,
    relabel,
)
from riselang.autodiff.loops import Label, Loop
from riselang.dialects.rise.pattern_registry import SIZE_OF
from riselang.dialects.rise.types import idx, index
from riselang.nat import Nat
from riselang.term import build
from riselang.term.build import Node


class Nests:
    """Operations on nests, which create nodes in the current scope of a builder."""

    def __init__(self, builder: Builder):
        self.builder = builder
        self._permuted: dict[tuple[Node, tuple[int, ...]], Node] = {}
        self._products: dict[tuple[Loop | Node, ...], Node] = {}
        self._splits: dict[Node, tuple[int, Node]] = {}
        """For each array with a split axis, the axis and the original array."""

    # Computing a nest

    def dense(self, value: Contribution) -> Node:
        """Return the array that a contribution describes."""
        if isinstance(value, Sparse):
            return self.scatter(value, None)
        if not value.summed and len(value.reads) == 1:
            (read,) = value.reads
            if value.body is read.variable and read.labels == value.labels:
                return read.array
        single = [each for each in value.labels if is_single(value, each)]
        if single and len(single) < len(value.labels):
            return self._dense_with_single_axes(value, single)
        merged, splits = self._merge_axes(value) if value.summed else (value, [])
        order = (*merged.labels, *merged.summed)
        reads = tuple(self._store_if_read_often(each, order) for each in merged.reads)
        result = self._level(replace(merged, reads=reads), order)
        for depth, outer, inner in reversed(splits):
            result = self._split_at(depth, outer, inner, result)
        return result

    def _dense_with_single_axes(self, nest: Nest, single: Sequence[Label]) -> Node:
        """Compute an array without the axes of length 1 that it does not read, and add them."""
        labels = [each for each in nest.labels if each not in single]
        result = self.dense(replace(nest, labels=tuple(labels)))
        for depth, label in enumerate(nest.labels):
            if label in single:
                result = self._insert_axis(depth, labels, result)
                labels.insert(depth, label)
        return result

    def _insert_axis(self, depth: int, labels: Sequence[Label], xs: Node) -> Node:
        one, is_last = Nat.const(1), depth == len(labels)
        length = labels[depth - is_last].length
        sizes = (one, length) if is_last else (length, one)
        return self.builder.map_at(
            depth - is_last, lambda each: self.builder.split(*sizes, each), xs
        )

    def as_nest(self, value: Contribution) -> Nest:
        """Return a contribution as a nest."""
        return value if isinstance(value, Nest) else nest_of(self.builder, self.dense(value))

    def as_dense_nest(self, value: Contribution) -> Nest:
        """Return a contribution as a nest whose elements are stored or cheap."""
        if isinstance(value, Nest) and not value.summed:
            return value
        return nest_of(self.builder, self.builder.store(self.dense(value)))

    def _store_if_read_often(self, read: Read, order: Sequence[Label]) -> Read:
        """Store an array that a loop reads again in each of its iterations."""
        others = [each for each in order if each not in read.labels]
        if not read.labels or all(label.length == Nat.const(1) for label in others):
            return read
        return replace(read, array=self.builder.store(read.array))

    def _reorder(self, read: Read, order: Sequence[Label]) -> Node:
        wanted = [label for label in order if label in read.labels]
        return self.permute(read.array, tuple(read.labels.index(label) for label in wanted))

    def permute(self, node: Node, axes: tuple[int, ...]) -> Node:
        """Transpose an array so that its axes are in this order."""
        if axes == tuple(range(len(axes))):
            return node
        key = (node, axes)
        if key not in self._permuted:
            current = list(range(len(axes)))
            result = node
            for position, axis in enumerate(axes):
                for depth in reversed(range(position, current.index(axis))):
                    result = self.builder.map_at(depth, self.builder.transpose, result)
                    current[depth], current[depth + 1] = current[depth + 1], current[depth]
            self._permuted[key] = result
        return self._permuted[key]

    # Axes

    def _merge_axes(self, nest: Nest) -> tuple[Nest, list[tuple[int, Label, Label]]]:
        """Make one axis of two where all arrays that are read along one of them are also read along
        the other: a tensor contraction of matrices has three axes. The axes of the result stay if
        there is no contraction.

        Returns also the axes of the result that were merged, with their positions.
        """
        splits: list[tuple[int, Label, Label]] = []
        position = 0
        while position + 1 < len(axes := (*nest.labels, *nest.summed)):
            merged = None
            is_result = position < len(nest.labels)
            is_free = is_result and any(axes[position] not in read.labels for read in nest.reads)
            if (is_free or not is_result) and position + 1 != len(nest.labels):
                merged = self.merge(nest, axes[position], axes[position + 1])
            if merged is None:
                position += 1
                continue
            if is_result:
                splits.append((position, axes[position], axes[position + 1]))
            nest = merged
        return nest, splits

    def _split_at(self, depth: int, outer: Label, inner: Label, xs: Node) -> Node:
        result = self.builder.map_at(
            depth, lambda each: self.builder.split(inner.length, outer.length, each), xs
        )
        self._splits[result] = depth, xs
        return result

    def _join_at(self, depth: int, xs: Node) -> Node:
        axis, source = self._splits.get(xs, (None, xs))
        return source if axis == depth else self.builder.map_at(depth, self.builder.join, xs)

    def merge(self, nest: Nest, outer: Label, inner: Label) -> Nest | None:
        """Replace two adjacent axes with one, unless an array is read along one of them only."""
        if any((outer in read.labels) != (inner in read.labels) for read in nest.reads):
            return None
        label = Label(outer.length * inner.length)

        def join_read(read: Read) -> Read:
            if outer not in read.labels:
                return read
            others = [each for each in read.labels if each is not inner]
            position = others.index(outer)
            order = [*others[: position + 1], inner, *others[position + 1 :]]
            array = self._join_at(position, self._reorder(read, order))
            return Read(read.variable, array, tuple(_replace(others, outer, [label])))

        return Nest(
            tuple(_replace([each for each in nest.labels if each is not inner], outer, [label])),
            nest.body,
            tuple(join_read(read) for read in nest.reads),
            tuple(_replace([each for each in nest.summed if each is not inner], outer, [label])),
        )

    def split_axis(self, nest: Nest, label: Label, outer: Label, inner: Label) -> Nest:
        """Replace an axis with two."""

        def split_read(read: Read) -> Read:
            if label not in read.labels:
                return read
            array = self._split_at(read.labels.index(label), outer, inner, read.array)
            return Read(read.variable, array, tuple(_replace(read.labels, label, [outer, inner])))

        labels = tuple(_replace(nest.labels, label, [outer, inner]))
        return replace(nest, labels=labels, reads=tuple(split_read(read) for read in nest.reads))

    def _level(self, nest: Nest, order: Sequence[Label]) -> Node:
        """Build the loops over these axes, of which the first ones are those of the result."""
        if not order:
            values = {read.variable: read.array for read in nest.reads}
            return substitute(self.builder, nest.body, values)
        label, *others = order
        is_sum = label in nest.summed
        if is_sum and not any(label in read.labels for read in nest.reads):
            return self._repeat_sum(self._level(nest, others), label.length)
        loop = Loop(self.builder, label.length)
        reads = tuple(self._read_element(read, label, loop) for read in nest.reads)
        with self.builder.in_scope(loop.scope):
            body = self._level(replace(nest, reads=reads), others)
        xs = loop.map(body)
        return self.builder.sum(xs) if is_sum else xs

    def _read_element(self, read: Read, label: Label, loop: Loop, name: str | None = None) -> Read:
        """Return what a loop along an axis reads in its body."""
        if label not in read.labels:
            return read
        axis = read.labels.index(label)
        others = [other for other in range(len(read.labels)) if other != axis]
        moved = self.permute(read.array, (axis, *others))
        labels = tuple(read.labels[other] for other in others)
        return Read(read.variable, loop.element(moved, name), labels)

    def _repeat_sum(self, value: Node, length: Nat) -> Node:
        """Add a number to itself."""
        builder = self.builder
        if length.is_constant:
            factor = builder.number(length.constant, scalar_of(value.type))
            return builder.multiply(value, factor)
        return builder.sum(builder.generate(length, lambda _: value))

    def scatter(self, sparse: Sparse, start: Node | None) -> Node:
        """Add the values of a sparse array to a dense one, or to zeros."""
        builder = self.builder
        values, depth = self.dense(sparse.value), len(sparse.loops)
        if start is None:
            inner = sparse.value.lengths[depth:]
            type = scalar_of(values.type)
            start = builder.zeros(nest_type([*sparse.bounds, *inner], type))
        if product(sparse.bounds) == Nat.const(0):
            return start
        indices = self._linear_indices(sparse)
        for _ in range(depth - 1):
            values = builder.join(values)
        if not depth:
            values, indices = builder.singleton(values), builder.singleton(indices)
        for _ in sparse.bounds[1:]:
            start = builder.join(start)
        result = builder.scatter_add(indices, start, values)
        for axis in reversed(range(1, len(sparse.bounds))):
            result = builder.split(sparse.bounds[axis], product(sparse.bounds[:axis]), result)
        return result

    def _linear_indices(self, sparse: Sparse) -> Node:
        """Return the index of each value in the array whose first axes are joined."""
        builder = self.builder
        arrays = [self.dense(each) for each in sparse.indices]
        for _ in range(len(sparse.loops) - 1):
            arrays = [builder.join(each) for each in arrays]
        if len(arrays) == 1:
            return arrays[0]
        count = product(sparse.bounds)

        def linear(positions: Sequence[Node]) -> Node:
            total = builder.from_idx(positions[0])
            for position, length in zip(positions[1:], sparse.bounds[1:], strict=True):
                size = self._size(length)
                total = builder.operation("arith.muli", [total, size], total.type)
                total = builder.operation(
                    "arith.addi", [total, builder.from_idx(position)], total.type
                )
            return builder.clamp_idx(count, total)

        if not sparse.loops:
            return linear(arrays)
        zipped = builder.zip_all(arrays)
        return builder.map(lambda each: linear(builder.unpack(each, len(arrays))), zipped)

    def _size(self, length: Nat) -> Node:
        """Return a length as a number."""
        builder = self.builder
        if length.is_constant:
            return builder.number(length.constant, index)
        return builder.apply(SIZE_OF, [length, idx(length)], builder.indices(length))

    # Sums of contributions

    def total(self, contributions: Sequence[Contribution]) -> Contribution:
        """Add contributions to one cotangent."""
        if len(contributions) == 1:
            return contributions[0]
        nests = [each for each in contributions if isinstance(each, Nest)]
        sparse = [each for each in contributions if isinstance(each, Sparse)]
        total = self._add_nests(nests) if nests else None
        if not sparse:
            assert total is not None
            return total
        start = None if total is None else self.dense(total)
        for each in sparse:
            start = self.scatter(each, start)
        assert start is not None
        return nest_of(self.builder, start)

    def combine(self, contributions: Sequence[Contribution]) -> list[Contribution]:
        """Add the contributions that are computed element by element; keep the others, which may
        become tensor contractions."""
        plain = [each for each in contributions if isinstance(each, Nest) and is_plain(each)]
        others = [each for each in contributions if each not in plain]
        return [*([self._add_nests(plain)] if plain else []), *others]

    def _add_nests(self, nests: Sequence[Nest]) -> Nest:
        result = self.as_dense_nest(nests[0])
        for nest in nests[1:]:
            other = relabel(self.as_dense_nest(nest), result.labels)
            body = self.builder.add(result.body, other.body)
            result = Nest(result.labels, body, (*result.reads, *other.reads))
        return result

    # Loops

    def enter(self, nest: Nest, loop: Loop) -> Nest:
        """Return an element of a nest along its first axis, in the scope of a loop."""
        label, *labels = nest.labels
        reads = tuple(self._read_element(read, label, loop, "ct") for read in nest.reads)
        return Nest(tuple(labels), nest.body, reads)

    def leave(self, nests: Sequence[Nest], loop: Loop) -> list[Nest]:
        """Return nests of the scope of a loop outside of it: what they read in each iteration, they
        read from arrays with the label of the loop."""
        reduced = [self._split_products(nest, loop) for nest in nests]
        local = [
            read.array
            for nest in reduced
            for read in nest.reads
            if read.array.scope is loop.scope and not loop.is_invariant(read.array)
        ]
        arrays = dict(zip(local, loop.map_all(local), strict=True))
        return [
            replace(
                nest, reads=tuple(self._read_outside(read, arrays, loop) for read in nest.reads)
            )
            for nest in reduced
        ]

    def _read_outside(self, read: Read, arrays: Mapping[Node, Node], loop: Loop) -> Read:
        if read.array.scope is not loop.scope:
            return read
        if read.array not in arrays:
            return replace(read, array=loop.hoist(read.array))
        return Read(read.variable, arrays[read.array], (loop.label, *read.labels))

    def _split_products(self, nest: Nest, loop: Loop) -> Nest:
        """Read the factors of products that vary in a loop, and those that do not, separately.

        So their sum over the loop is a tensor contraction.
        """
        reads: list[Read] = []
        products: dict[Node, Node] = {}
        for read in nest.reads:
            factors = _factors_of(read.array, loop) if not read.labels else []
            invariant = [each for each in factors if loop.is_invariant(each)]
            if not invariant:
                reads.append(read)
                continue
            varying = [each for each in factors if each not in invariant]
            parts = [self._multiply_in(varying, loop)] if varying else []
            variables: list[Node] = []
            for node in [*parts, *invariant]:
                if isinstance(node, build.Constant):
                    variables.append(node)
                    continue
                variables.append(self.builder.variable(node.type, "x"))
                reads.append(Read(variables[-1], node, ()))
            products[read.variable] = self._multiply(variables)
        if not products:
            return nest
        kept = {read.variable: read.variable for read in nest.reads}
        body = substitute(self.builder, nest.body, {**kept, **products})
        return replace(nest, body=body, reads=tuple(reads))

    def _multiply(self, factors: Sequence[Node]) -> Node:
        result = factors[0]
        for factor in factors[1:]:
            result = self.builder.multiply(result, factor)
        return result

    def _multiply_in(self, factors: Sequence[Node], loop: Loop) -> Node:
        """Multiply nodes of the scope of a loop; equal products are one node."""
        key = (loop, *factors)
        if key not in self._products:
            with self.builder.in_scope(loop.scope):
                self._products[key] = self._multiply(factors)
        return self._products[key]


def _factors_of(node: Node, loop: Loop) -> list[Node]:
    """Return the factors of a product in the scope of a loop, from left to right."""
    factors: list[Node] = []
    stack = [node]
    while stack:
        current = stack.pop()
        is_product = isinstance(current, build.Operation) and current.op == "arith.mulf"
        if is_product and current.scope is loop.scope:
            stack.extend(reversed(current.children))
        else:
            factors.append(current)
    return factors


def _replace(labels: Sequence[Label], label: Label, others: Sequence[Label]) -> list[Label]:
    """Replace a label, if it is among these, with others."""
    return [new for each in labels for new in (others if each is label else [each])]


def substitute(builder: Builder, body: Node, nodes: Mapping[Node, Node]) -> Node:
    """Copy scalar operations to the current scope, with other nodes for their variables."""
    copies: dict[Node, Node] = dict(nodes)
    stack = [body]
    while stack:
        node = stack[-1]
        if node in copies:
            stack.pop()
            continue
        pending = [child for child in node.children if child not in copies]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        copies[node] = _copy(builder, node, [copies[child] for child in node.children])
    return copies[body]


def _copy(builder: Builder, node: Node, operands: Sequence[Node]) -> Node:
    if isinstance(node, build.Operation):
        return builder.operation(node.op, operands, node.type, node.predicate)
    if isinstance(node, build.Conversion):
        return build.Conversion(
            node.type, operands[0], scope=builder.scope, location=builder.location
        )
    assert isinstance(node, build.Constant), node
    return build.Constant(node.type, node.number, scope=builder.scope, location=builder.location)
