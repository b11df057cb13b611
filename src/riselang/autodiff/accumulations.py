"""Cotangents of reductions and scans.

The accumulators before each element are computed by a scan, and their cotangents by a scan from the
last element to the first. Given both, the cotangents of the elements are those of a map.
"""

from __future__ import annotations

from collections.abc import Sequence

from riselang.autodiff.building import Builder, nest_type
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
from riselang.autodiff.nests import Contribution, nest_of
from riselang.autodiff.reverse import Evaluate, Reverse
from riselang.dialects.rise.types import RiseType, element_of, is_float, leaves
from riselang.nat import Nat
from riselang.term.build import Function, Node
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
    outer = function.term
    if not isinstance(outer, Lambda) or not isinstance(outer.body, Lambda):
        return False
    body = outer.body.body
    if not isinstance(body, Scalar) or body.op != "arith.addf":
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


class Accumulation:
    """A reduction or a scan whose cotangents are computed."""

    def __init__(
        self,
        reverse: Reverse,
        function: Closure,
        start: Entry,
        xs: Entry,
        length: Nat,
        *,
        reads_element: bool = True,
        totals: Node | None = None,
    ):
        """`totals` is the array of all accumulators, if the program computes it."""
        self._reverse = reverse
        self._builder = reverse.builder
        self._function = function
        self._start = start
        self._xs = xs
        self._length = length
        self._reads_element = reads_element
        self._totals = totals
        self._count = len(float_types(start.type))

    def _apply(self, record: Record, total: Entry, element: Entry) -> Entry:
        arguments = [total, element] if self._reads_element else [total]
        result = record.apply(self._function, arguments)
        assert isinstance(result, Entry)
        return result

    def propagate(
        self, cotangents: Cotangents, result: Leaves | None, results: Leaves | None
    ) -> None:
        """Propagate the cotangent of the last accumulator, or of the array of all accumulators."""
        reverse, type = self._reverse, self._start.type
        previous = self._previous_totals()
        array_type = nest_type([self._length], type)
        each = [] if results is None else dense_floats(reverse, array_type, results)
        last = dense_floats(reverse, type, result or [])
        step = self._reverse_step([previous, self._xs.node, *each])
        elements = self._builder.reverse(self._builder.zip_all([previous, self._xs.node, *each]))
        start = self._builder.tuple([*last, *last])
        if self._start.is_active:
            states = self._builder.unpack(
                self._builder.reduce(step, start, elements), 2 * self._count
            )
            first = float_nests(self._builder, type, states[self._count :])
            cotangents.add(self._start, first)
        self._propagate_to_elements(cotangents, previous, self._builder.scan(step, start, elements))

    def _previous_totals(self) -> Node:
        """Return the accumulator before each element."""
        builder = self._builder
        if self._totals is not None and self._length.is_constant and self._length.constant:
            others = builder.take(self._length - 1, self._totals)
            return builder.concat(builder.singleton(self._start.node), others)

        def step(state: Node, element: Node) -> Node:
            total = builder.second(state)
            result = self._apply(Record(builder), Entry(total), Entry(element))
            return builder.pair(total, result.node)

        start = builder.pair(self._start.node, self._start.node)
        function = builder.function([start.type, element_of(self._xs.type)], ["state", "x"], step)
        totals = builder.scan(function, start, self._xs.node)
        return builder.first(builder.unzip(totals))

    def _reverse_step(self, arrays: Sequence[Node]) -> Function:
        """Return the function from the cotangent of an accumulator to that of the previous one.

        Its state has both; the first one includes the cotangent of the accumulator as a result.
        """
        builder, count = self._builder, self._count
        types = float_types(self._start.type)
        zipped = builder.zip_all(arrays)

        def step(state: Node, element: Node) -> Node:
            known = builder.unpack(state, 2 * count)[count:]
            previous, x, *results = builder.unpack(element, len(arrays))
            if results:
                pairs = zip(known, results, strict=True)
                known = [builder.add_arrays(total, own) for total, own in pairs]
            record, inner = Record(builder), Cotangents()
            total = Entry(previous, float_leaves(self._start.type))
            value = self._apply(record, total, Entry(x))
            inner.add(value, float_nests(builder, self._start.type, known))
            self._reverse.run(record, inner)
            leaves = self._reverse.totals(inner.pop(total) or [])
            return builder.tuple([*known, *dense_floats(self._reverse, self._start.type, leaves)])

        state = builder.tuple([builder.variable(type, "ct") for type in [*types, *types]]).type
        return builder.function([state, element_of(zipped.type)], ["state", "x"], step)

    def _propagate_to_elements(self, cotangents: Cotangents, previous: Node, states: Node) -> None:
        builder = self._builder
        arrays = builder.unzip_all(states, 2 * self._count)[: self._count]
        seeds = float_nests(builder, self._start.type, [builder.reverse(each) for each in arrays])
        self._reverse.loop(
            cotangents, self._length, [Entry(previous), self._xs],
            lambda record, elements: self._apply(record, elements[0], elements[1]), seeds,
            ["total", "x"],
        )  # fmt: skip
