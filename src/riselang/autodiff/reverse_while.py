"""Cotangents of `while`, whose number of iterations is known only when it has ended.

The loop counts its iterations. A second one runs through them again and stores the state before
each of at most `CHECKPOINTS` equal parts; then the parts are visited from the last to the first. In
each part, the state before a step is computed again from the stored one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from riselang.autodiff.accumulations import dense_floats, float_nests
from riselang.autodiff.building import Builder
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Closure, Entry, Record, float_leaves
from riselang.autodiff.reverse import Reverse, rule
from riselang.autodiff.reverse_loops import active_entries
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.types import contains_array, element_of, idx, index
from riselang.nat import Nat
from riselang.term.build import Node

CHECKPOINTS = 32
"""The number of parts of a loop whose first states are stored.

A loop of at most this many iterations computes each state twice more, a longer one of n iterations
n / 64 times on average. If the state consists of scalars, each part is divided again.
"""


@rule(patterns.WHILE)
def _while(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    condition, function, start = entry.operands
    assert isinstance(condition, Closure)
    assert isinstance(function, Closure)
    assert isinstance(start, Entry)
    loop = _ReverseWhile(reverse, function, start, active_entries(function))
    count = loop.count_steps(condition, entry.node)
    carried = [
        *dense_floats(reverse, start.type, leaves),
        *(node for each in loop.targets for node in dense_floats(reverse, each.type, [])),
    ]
    levels = 1 if contains_array(start.type) else 2
    nodes = loop.propagate(levels, count, start.node, carried)
    loop.add(cotangents, nodes)


@dataclass(frozen=True)
class _ReverseWhile:
    reverse: Reverse
    function: Closure
    start: Entry
    targets: Sequence[Entry]
    """The active values that all iterations read."""

    @property
    def _builder(self) -> Builder:
        return self.reverse.builder

    def _step(self, state: Node) -> Node:
        result = Record(self._builder).apply(self.function, [Entry(state)])
        assert isinstance(result, Entry)
        return result.node

    def count_steps(self, condition: Closure, result: Node) -> Node:
        """Return the number of iterations; the pattern then reads its result from this loop."""
        builder = self._builder

        def holds(state: Node) -> Node:
            value = Record(builder).apply(condition, [Entry(builder.second(state))])
            assert isinstance(value, Entry)
            return value.node

        def step(state: Node) -> Node:
            count, value = builder.unpack(state, 2)
            return builder.pair(self._integer("addi", count, 1), self._step(value))

        first = builder.pair(builder.number(0, index), self.start.node)
        last = self._repeat(holds, step, first)
        builder.replace_call(result, builder.second(last))
        return builder.first(last)

    def propagate(self, levels: int, count: Node, state: Node, carried: list[Node]) -> list[Node]:
        """Return the cotangents before `count` steps from a state, given those after them."""
        builder = self._builder
        if levels == 0:
            return self._propagate_steps(count, state, carried)
        length = self._integer("ceildivsi", count, CHECKPOINTS)
        parts = Nat.const(CHECKPOINTS)

        def part_length(part: Node) -> Node:
            before = self._integer("muli", builder.from_idx(part), length)
            left = self._integer("maxsi", self._integer("subi", count, before), 0)
            return self._integer("minsi", left, length)

        advance = builder.function(
            [state.type, idx(parts)], ["state", "part"],
            lambda own, part: self._advance(part_length(part), own),
        )  # fmt: skip
        indices = builder.indices(parts)
        states = builder.take(parts - 1, builder.scan(advance, state, indices))
        checkpoints = builder.store(builder.concat(builder.singleton(state), states))
        elements = builder.reverse(builder.zip_all([checkpoints, indices]))

        def propagate_part(known: Node, element: Node) -> Node:
            own, part = builder.unpack(element, 2)
            given = builder.unpack(known, len(carried))
            return builder.tuple(self.propagate(levels - 1, part_length(part), own, given))

        first = builder.tuple(carried)
        function = builder.function(
            [first.type, element_of(elements.type)], ["ct", "part"], propagate_part
        )
        return builder.unpack(builder.reduce(function, first, elements), len(carried))

    def _propagate_steps(self, count: Node, state: Node, carried: list[Node]) -> list[Node]:
        builder = self._builder

        def step(current: Node) -> Node:
            number, *known = builder.unpack(current, 1 + len(carried))
            before = self._integer("subi", number, 1)
            own = self._advance(before, state)
            return builder.tuple([before, *self._propagate_step(own, known)])

        first = builder.tuple([count, *carried])
        last = self._repeat(
            lambda current: builder.compare("gt", builder.first(current), self._number(0)),
            step, first,
        )  # fmt: skip
        return builder.unpack(last, 1 + len(carried))[1:]

    def _propagate_step(self, state: Node, carried: Sequence[Node]) -> list[Node]:
        """Return the cotangents before a step from a state."""
        reverse, type = self.reverse, self.start.type
        own = sum(float_leaves(type))
        record, inner = Record(self._builder), Cotangents()
        total = Entry(state, float_leaves(type))
        result = record.apply(self.function, [total])
        inner.add(result, float_nests(self._builder, type, carried[:own]))
        reverse.run(record, inner)
        nodes = dense_floats(reverse, type, reverse.totals(inner.pop(total) or []))
        sums = iter(carried[own:])
        for target in self.targets:
            parts = inner.pop(target)
            for position, has_float in enumerate(float_leaves(target.type)):
                if not has_float:
                    continue
                known = next(sums)
                if parts is not None and parts[position]:
                    added = reverse.nests.dense(reverse.nests.total(parts[position]))
                    known = self._builder.add_arrays(known, added)
                nodes.append(known)
        return nodes

    def add(self, cotangents: Cotangents, nodes: Sequence[Node]) -> None:
        given = iter(nodes)
        for entry in (self.start, *self.targets):
            own = [next(given) for _ in range(sum(float_leaves(entry.type)))]
            if entry.is_active:
                cotangents.add(entry, float_nests(self._builder, entry.type, own))

    def _advance(self, count: Node, state: Node) -> Node:
        """Return the state after a number of steps."""
        builder = self._builder

        def step(current: Node) -> Node:
            left, own = builder.unpack(current, 2)
            return builder.pair(self._integer("subi", left, 1), self._step(own))

        last = self._repeat(
            lambda current: builder.compare("gt", builder.first(current), self._number(0)),
            step, builder.pair(count, state),
        )  # fmt: skip
        return builder.second(last)

    def _repeat(
        self, holds: Callable[[Node], Node], step: Callable[[Node], Node], start: Node
    ) -> Node:
        builder, type = self._builder, start.type
        functions = [builder.function([type], ["state"], each) for each in (holds, step)]
        return builder.apply(patterns.WHILE, [type], *functions, start)

    def _number(self, number: int) -> Node:
        return self._builder.number(number, index)

    def _integer(self, name: str, left: Node, right: Node | int) -> Node:
        other = self._number(right) if isinstance(right, int) else right
        return self._builder.operation(f"arith.{name}", [left, other], index)
