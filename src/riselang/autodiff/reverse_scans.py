"""Loops that compute the cotangents of accumulators, from the last one to the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from riselang.autodiff.building import Builder
from riselang.autodiff.copying import copy_nodes
from riselang.autodiff.costs import frontier, is_expensive, nodes_inside
from riselang.autodiff.loops import Loop, nodes_in
from riselang.dialects.rise.types import (
    RiseType,
    element_of,
    index,
)
from riselang.nat import Nat
from riselang.term import build
from riselang.term.build import Node

ReadForward = Callable[[Sequence[Node]], Sequence[Node]]
"""Returns the arrays of values that the steps of the program compute."""


class ReverseScan(Loop):
    """A scan over arrays from their last elements to the first, whose state is a cotangent.

    The state also contains the values of the body that are needed outside. The body reads values of
    the program's steps from arrays if computing them again is expensive.
    """

    def __init__(self, builder: Builder, length: Nat, total: RiseType, start: Sequence[Node]):
        super().__init__(builder, length)
        self.outer = builder.scope
        self.total = builder.variable(total, "total", self.scope)
        """The accumulator before a step of the program."""
        self.carried: list[Node] = []
        """The cotangents of the accumulator after a step."""
        self._start: list[Node] = []
        self._results: list[Node] = []
        self._states: list[Node] = []
        self._computed: set[Node] = set()
        self._read_forward: ReadForward = lambda nodes: nodes
        for each in start:
            self.carry(each)

    def carry(self, start: Node) -> Node:
        """Return a variable for a part of the state, given its first value."""
        variable = self._builder.variable(start.type, "ct", self.scope)
        self.carried.append(variable)
        self._start.append(start)
        return variable

    def close(self, results: Sequence[Node], computed: Node, read_forward: ReadForward) -> None:
        """Set the values of the carried variables after an iteration, and the node of the body
        that the program itself computes."""
        self._results = list(results)
        self._computed = nodes_inside(computed, self.scope)
        self._read_forward = read_forward

    def map_all(self, bodies: Sequence[Node]) -> list[Node]:
        """Return the arrays of several nodes of the body, by one scan."""
        self._store_values([*bodies, *self._results])
        emitted = [each for each in dict.fromkeys(bodies) if self._is_new(each)]
        if emitted:
            states = self._run(emitted)
            self._states = states[len(emitted) :]
            arrays = [self._builder.reverse(each) for each in states[: len(emitted)]]
            self._maps.update(zip(emitted, arrays, strict=True))
        return [self.map(each) for each in bodies]

    def last_carried(self) -> list[Node]:
        """Return the carried values after all iterations."""
        builder, length = self._builder, self.label.length
        if length == Nat.const(0):
            return self._start
        if self._states and length.is_constant:
            position = builder.clamp_idx(length, builder.number(length.constant - 1, index))
            return [builder.at(position, each) for each in self._states]
        self._store_values(self._results)
        return self._run([])

    def copy(self, body: Node, values: Mapping[Node, Node]) -> Node:
        """Copy a node of the body to the current scope."""
        return copy_nodes(body, self.scope, self._builder.scope, values)

    def is_invariant(self, body: Node) -> bool:
        return not nodes_in(body, [*self.arrays, self.total, *self.carried])

    def _is_new(self, body: Node) -> bool:
        if body in self.arrays or body in self._maps:
            return False
        return bool(nodes_in(body, self.carried)) or not build.is_view_node(body)

    def _used(self, body: Node) -> list[Node]:
        """Return the variables and stored values that a node is computed from."""
        used = frontier([body], self.scope, lambda node: node in self.arrays)
        return [each for each in self.arrays if each in used]

    def _run(self, emitted: Sequence[Node]) -> list[Node]:
        """Return the arrays of nodes and the carried values in all iterations, or without nodes the
        last carried values."""
        builder = self._builder
        with builder.in_scope(self.scope):
            body = builder.tuple([*emitted, *self._results])
        used = self._used(body)
        arrays = [self.arrays[each] for each in used] or [builder.indices(self.label.length)]
        count = len(emitted) + len(self._results)

        def step(state: Node, element: Node) -> Node:
            known = builder.unpack(state, count)[len(emitted) :]
            parts = builder.unpack(element, len(arrays))
            values = dict(zip(used, parts, strict=False))
            return self.copy(body, {**values, **dict(zip(self.carried, known, strict=True))})

        zeros = [builder.zeros(each.type) for each in emitted]
        start = builder.tuple([*zeros, *self._start])
        elements = builder.reverse(builder.zip_all(arrays))
        function = builder.function([start.type, element_of(elements.type)], ["state", "x"], step)
        if emitted:
            return builder.unzip_all(builder.scan(function, start, elements), count)
        return builder.unpack(builder.reduce(function, start, elements), count)

    def _store_values(self, roots: Sequence[Node]) -> None:
        """Read the values that the program computes, and that these nodes need, from arrays."""

        def is_stored(node: Node) -> bool:
            return node is self.total or (node in self._computed and is_expensive(node))

        needed = frontier(roots, self.scope, lambda node: node in self.arrays or is_stored(node))
        nodes = [each for each in needed if each not in self.arrays]
        if nodes:
            self.arrays.update(zip(nodes, self._read_forward(nodes), strict=True))
