"""Cotangents of reductions, scans and iterations.

A scan stores the accumulator before each element, and the values of each step that are expensive to
compute again. The cotangents of the accumulators are computed by a scan from the last element to
the first, which also returns what the cotangents of all other values are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.autodiff.building import Builder, nest_type
from riselang.autodiff.contributions import Contribution, Nest, is_plain, nest_of
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import (
    Binding,
    Closure,
    Entry,
    Record,
    Value,
    float_leaves,
    free_positions,
)
from riselang.autodiff.reverse import Evaluate, Reverse, Values
from riselang.autodiff.reverse_scans import ReverseScan
from riselang.dialects.rise.pattern_registry import REDUCE_PAR
from riselang.dialects.rise.types import RiseType, element_of, index, is_float, leaves
from riselang.nat import Nat
from riselang.term.build import Node
from riselang.term.nodes import Bound, Lambda, Scalar, Term

EXTREMA = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf")


def added_element(function: Closure) -> Evaluate | None:
    """Return how an element is computed that a reduction adds to a scalar; None if the function
    is not `fun((total, x), total + f(x))`."""
    return _combined_element(function, ("arith.addf",))


def extremal_element(function: Closure) -> Evaluate | None:
    """The same for the maximum and the minimum."""
    return _combined_element(function, EXTREMA)


def is_addition(function: Closure) -> bool:
    """Return whether a function adds two scalars."""
    return _is_operation(function, ("arith.addf",))


def is_extremum(function: Closure) -> bool:
    """Return whether a function is the maximum or minimum of two scalars."""
    return _is_operation(function, EXTREMA)


def _is_operation(function: Closure, ops: Sequence[str]) -> bool:
    outer = function.term
    if not isinstance(outer, Lambda) or not isinstance(outer.body, Lambda):
        return False
    body = outer.body.body
    if not isinstance(body, Scalar) or body.op not in ops:
        return False
    return {each.index for each in body.operands if isinstance(each, Bound)} == {0, 1}


def _combined_element(function: Closure, ops: Sequence[str]) -> Evaluate | None:
    outer = function.term
    if not isinstance(outer, Lambda) or not isinstance(outer.body, Lambda):
        return None
    body = outer.body.body
    if not isinstance(body, Scalar) or body.op not in ops:
        return None
    for total, element in (body.operands, body.operands[::-1]):
        if isinstance(total, Bound) and total.index == 1 and 1 not in free_positions(element):
            return lambda record, elements: _evaluate(record, element, elements, function)
    return None


def _evaluate(record: Record, element: Term, elements: Sequence[Entry], function: Closure) -> Value:
    # The element does not mention the total.
    return record.evaluate(
        element, Binding(elements[0], Binding(elements[0], function.environment))
    )


def float_types(type: RiseType) -> list[RiseType]:
    """Return the types of the parts of a value that are floats, or arrays of them."""
    return [nest_type(lengths, leaf) for lengths, leaf in leaves(type) if is_float(leaf)]


def dense_floats(reverse: Reverse, type: RiseType, values: Leaves) -> list[Node]:
    """Return the cotangents of all floats of a type as arrays, which are zero if not known."""
    nodes: list[Node] = []
    given = iter(values)
    for lengths, leaf in leaves(type):
        value = next(given, None)
        if not is_float(leaf):
            continue
        nodes.append(
            reverse.builder.zeros(nest_type(lengths, leaf))
            if value is None
            else reverse.nests.dense(value)
        )
    return nodes


def float_nests(builder: Builder, type: RiseType, nodes: Sequence[Node]) -> Leaves:
    """Return arrays as the cotangents of the floats of a type."""
    given = iter(nodes)
    values: list[Contribution | None] = []
    for has_float in float_leaves(type):
        values.append(nest_of(builder, next(given)) if has_float else None)
    return values


@dataclass(frozen=True)
class Accumulation:
    """A reduction, a scan or an iteration whose cotangents are computed."""

    reverse: Reverse
    function: Closure
    start: Entry
    xs: Entry
    length: Nat
    source: Entry
    """The entry of the pattern."""
    reads_element: bool = True

    @property
    def is_scan(self) -> bool:
        return self.source.type != self.start.type

    def propagate(self, cotangents: Cotangents, leaves: Leaves) -> None:
        """Propagate the cotangent of the last accumulator, or of the array of all accumulators."""
        reverse, type = self.reverse, self.start.type
        builder = reverse.builder
        results = leaves if self.is_scan else []
        array_type = nest_type([self.length], type)
        last = dense_floats(reverse, type, [] if self.is_scan else leaves)
        loop = ReverseScan(builder, self.length, type, last)
        with builder.in_scope(loop.scope):
            x = Entry(loop.element(self.xs.node), self.xs.active)
            total = Entry(loop.total, float_leaves(type))
            record, inner = Record(builder), Cotangents()
            value = self._apply(record, total, x)
        own = dense_floats(reverse, array_type, results) if self.is_scan else []
        with builder.in_scope(loop.scope):
            known = list(loop.carried)
            for position, each in enumerate(own):
                known[position] = builder.add_arrays(known[position], loop.element(each, "ct"))
            inner.add(value, float_nests(builder, type, known))
            reverse.run(record, inner)
            totals = dense_floats(reverse, type, reverse.totals(inner.pop(total) or []))
            values = reverse.pending_values(inner)
            sums = self._carry_sums(loop, values, x)
        loop.close(
            [*totals, *sums.values()], value.node,
            lambda nodes: self._forward_arrays(loop, value, nodes),
        )  # fmt: skip
        if not sums:
            reverse.leave(cotangents, loop, {x: self.xs}, values)
        if self.start.is_active or sums:
            self._add_carried(cotangents, loop.last_carried(), list(sums))

    def _carry_sums(
        self, loop: ReverseScan, values: Values, x: Entry
    ) -> dict[tuple[Entry, int], Node]:
        """Add cotangents of values that all steps read in the loop, if all of them are computed
        element by element; so nothing is stored for each step."""
        reverse = self.reverse
        nests = [each for _, lists in values for parts in lists for each in parts]
        if any(entry is x for entry, _ in values) or not all(
            isinstance(each, Nest) and is_plain(each) for each in nests
        ):
            return {}
        sums: dict[tuple[Entry, int], Node] = {}
        for entry, lists in values:
            for position, parts in enumerate(lists):
                if parts:
                    node = reverse.nests.dense(reverse.nests.total(parts))
                    start = self._zeros_outside(node, loop)
                    known = loop.carry(start)
                    sums[entry, position] = reverse.builder.add_arrays(known, node)
        return sums

    def _zeros_outside(self, node: Node, loop: ReverseScan) -> Node:
        with self.reverse.builder.in_scope(loop.outer):
            return self.reverse.builder.zeros(node.type)

    def _add_carried(
        self, cotangents: Cotangents, carried: Sequence[Node], sums: Sequence[tuple[Entry, int]]
    ) -> None:
        builder = self.reverse.builder
        count = len(carried) - len(sums)
        if self.start.is_active:
            cotangents.add(self.start, float_nests(builder, self.start.type, carried[:count]))
        for (entry, position), node in zip(sums, carried[count:], strict=True):
            parts: list[Contribution | None] = [None] * len(entry.active)
            parts[position] = nest_of(builder, node)
            cotangents.add(entry, parts)

    def _apply(self, record: Record, total: Entry, element: Entry) -> Entry:
        arguments = [total, element] if self.reads_element else [total]
        result = record.apply(self.function, arguments)
        assert isinstance(result, Entry)
        return result

    def _forward_arrays(
        self, loop: ReverseScan, value: Entry, needed: Sequence[Node]
    ) -> list[Node]:
        """Return the arrays of values of the steps, of which one may be the accumulator before a
        step, by a scan that also computes the accumulators.

        The pattern then reads its result from this scan.
        """
        builder = self.reverse.builder
        is_positive = self.length.is_constant and self.length.constant > 0
        if list(needed) == [loop.total] and self.is_scan and is_positive:
            totals = builder.take(self.length - 1, self.source.node)
            return [builder.concat(builder.singleton(self.start.node), totals)]
        with builder.in_scope(loop.scope):
            body = builder.tuple([*needed, value.node])
        count = len(needed)
        parts = loop.element_arrays(self.xs.node)

        def step(state: Node, element: Node) -> Node:
            total = builder.unpack(state, 1 + count)[-1]
            values = dict(zip(parts, builder.unpack(element, len(parts)), strict=True))
            return loop.copy(body, {loop.total: total, **values})

        firsts = [
            self.start.node if each is loop.total else builder.zeros(each.type) for each in needed
        ]
        start = builder.tuple([*firsts, self.start.node])
        elements = builder.zip_all(list(parts.values()))
        types = [start.type, element_of(elements.type)]
        function = builder.function(types, ["state", "x"], step)
        *arrays, totals = builder.unzip_all(builder.scan(function, start, elements), 1 + count)
        if is_positive and self.source.spec is not REDUCE_PAR:
            # A parallel reduction has an order of its own.
            self._read_result(totals)
        return arrays

    def _read_result(self, totals: Node) -> None:
        """Replace the computation of the pattern with the accumulators of a scan."""
        builder, node = self.reverse.builder, self.source.node
        result = totals
        if not self.is_scan:
            position = builder.clamp_idx(
                self.length, builder.number(self.length.constant - 1, index)
            )
            result = builder.at(position, totals)
        builder.replace_call(node, result)
