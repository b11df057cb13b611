"""Lowers `sort` to a bottom-up merge sort.

The interpreter merges the same runs by the same comparisons, so that both agree for any function,
even one that is not an order. Values without arrays are merged between two alternating buffers;
for values with arrays, their indices are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ArrayType, RiseType, array, contains_array, idx
from riselang.lowering.functional_values import Lazy
from riselang.lowering.translation import Translation, result_type, size_argument
from riselang.nat import Nat
from riselang.term.nodes import Pattern

Comparison = Callable[[SSAValue, SSAValue], SSAValue]
"""Whether one item comes before another, as a builtin i1."""


class MergeSortRules(Translation):
    """Merge sort, for any comparison function."""

    def read_merged(self, pattern: Pattern, arguments: Sequence[Lazy]) -> SSAValue:
        length, element = size_argument(pattern, "n"), pattern.argument("t")
        assert isinstance(element, RiseType)
        precedes = self.comparison(arguments[0])
        if not contains_array(element):
            items = self.allocate_buffers(array(length, element))
            self.store(arguments[1], self.add(codegen.CastOp(items, array(length, element))))
            return self.merge_sort(array(length, element), items, precedes)
        source = self.store_if_computed(arguments[1])
        indices = self.merge_indices(source, length, precedes)
        return self.add(codegen.GatherOp(indices, source, result_type(pattern)))

    def comparison(self, function: Lazy) -> Comparison:
        value = self.force(function)

        def precedes(one: SSAValue, other: SSAValue) -> SSAValue:
            (result,) = self.unwrap(self.read_application(value, [one, other]))
            return result

        return precedes

    def merge_indices(self, source: SSAValue, length: Nat, precedes: Comparison) -> SSAValue:
        type = array(length, idx(length))
        items = self.allocate_buffers(type)
        target = self.add(codegen.CastOp(items, type))

        def element(item: SSAValue) -> SSAValue:
            return self.add(codegen.IdxOp(source, self.add(codegen.CastOp([item], IndexType()))))

        def fill(index: SSAValue) -> None:
            item = self.add(codegen.CastOp([index], idx(length)))
            self.copy(item, self.add(codegen.IdxOp(target, index)))

        self.emit_loop(length, self.loops, fill)
        return self.merge_sort(
            type, items, lambda one, other: precedes(element(one), element(other))
        )

    def merge_sort(self, type: ArrayType, items: list[SSAValue], precedes: Comparison) -> SSAValue:
        """Sort items: merge runs of 1, 2, 4, ... items from one buffer into the other."""
        half, end = len(items), self.emitter.length_value(type.length)

        def is_unsorted(carried: Sequence[SSAValue]) -> SSAValue:
            return self.add(arith.CmpiOp(carried[-1], end, "slt"))

        def merge_all(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            source = self.add(codegen.CastOp(carried[:half], type))
            target = self.add(codegen.CastOp(carried[half:-1], type))
            width = carried[-1]
            step = self.add(arith.AddiOp(width, width))

            def merge(start: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                middle, stop = (
                    self.add(arith.MinSIOp(self.add(arith.AddiOp(start, count)), end))
                    for count in (width, step)
                )
                self.merge(Runs(source, start, middle, stop), target, precedes)
                return ()

            self.emitter.range_loop(self.emitter.constant(0), end, step, (), merge)
            return (*carried[half:-1], *carried[:half], step)

        inits = [*items, *self.allocate_buffers(type), self.emitter.constant(1)]
        results = self.emitter.while_loop(inits, is_unsorted, merge_all)
        return self.add(codegen.CastOp(results[:half], type))

    def merge(self, runs: Runs, target: SSAValue, precedes: Comparison) -> None:
        one = self.emitter.constant(1)

        def next_item(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left, right = carried
            is_right = self.is_right_next(runs, left, right, precedes)
            selected = self.add(arith.SelectOp(is_right, right, left))
            item = self.add(codegen.IdxOp(runs.source, selected))
            self.copy(item, self.add(codegen.IdxOp(target, index)))
            following = [self.add(arith.AddiOp(position, one)) for position in carried]
            return (
                self.add(arith.SelectOp(is_right, left, following[0])),
                self.add(arith.SelectOp(is_right, following[1], right)),
            )

        self.emitter.range_loop(runs.start, runs.stop, one, [runs.start, runs.middle], next_item)

    def is_right_next(
        self, runs: Runs, left: SSAValue, right: SSAValue, precedes: Comparison
    ) -> SSAValue:
        """Whether the next item is from the right run: only if it comes before the left one."""
        has_left = self.add(arith.CmpiOp(left, runs.middle, "slt"))
        has_right = self.add(arith.CmpiOp(right, runs.stop, "slt"))
        both_left_block, one_left_block = Block(), Block()
        with self.emitter.inside_block(both_left_block):
            items = [self.add(codegen.IdxOp(runs.source, next_item)) for next_item in (right, left)]
            self.emitter.add(scf.YieldOp(precedes(*items)))
        with self.emitter.inside_block(one_left_block):
            self.emitter.add(scf.YieldOp(has_right))
        condition = self.add(arith.AndIOp(has_left, has_right))
        return self.add(scf.IfOp(condition, [i1], Region(both_left_block), Region(one_left_block)))


@dataclass(frozen=True)
class Runs:
    """Two adjacent sorted runs in `source`, from start to middle and from there to stop."""

    source: SSAValue
    start: SSAValue
    middle: SSAValue
    stop: SSAValue
