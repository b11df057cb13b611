"""Sorts arrays by integer keys, which are in the order of the numbers that are compared.

Numbers are sorted as keys, and converted back. For any other elements, pairs of a key and an index
are sorted, which are all different, so that the order of equal elements is kept. Floats that
include NaN have no order unless the comparison defines it: they are merged. The keys of -0.0 and
0.0 differ although the numbers are equal, so they are finally copied in their original order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ScalarType, array, idx, scalar
from riselang.lowering.callees import whole_buffers
from riselang.lowering.functional_values import Closure, Lazy
from riselang.lowering.loop_emitter import LoopBody, LoopKind
from riselang.lowering.rules.merge_sort_rules import MergeSortRules
from riselang.lowering.sorting.comparison_keys import NanPlace
from riselang.lowering.sorting.ordered_bits import (
    LOW_WORD,
    WORD,
    KeyOrder,
    OrderedBits,
    PairOrder,
    reinterpret,
)
from riselang.lowering.sorting.quicksort import KeySort
from riselang.lowering.stored_values import data_type
from riselang.nat import Nat
from riselang.support.machine import this_machine

SIGN = -1 << (2 * WORD - 1)
"""The sign bit of a pair."""


@dataclass(frozen=True)
class KeyedArray:
    """An array, and how its elements are compared: by the number that a function returns."""

    source: SSAValue
    length: Nat
    number: Closure
    number_type: ScalarType
    order: OrderedBits
    nan: NanPlace
    comparison: Lazy

    @property
    def orders_all(self) -> bool:
        """Whether the comparison orders all numbers, NaN included."""
        return not self.order.is_float or self.nan is not NanPlace.UNORDERED


@dataclass(frozen=True)
class KeyBuffers:
    """The buffers of a sort by keys."""

    sort: KeySort
    target: SSAValue
    """The array to store what the sorted keys stand for in."""
    output: SSAValue
    """The buffer of the target, or a buffer to copy to the target."""
    keys: SSAValue


class KeySortRules(MergeSortRules):
    """Sorting by integer keys."""

    # Numbers

    def store_sorted_numbers(self, keyed: KeyedArray, limit: Nat, target: SSAValue) -> None:
        """Sort an array of the numbers themselves, at least up to a limit."""
        buffers = self.key_buffers(keyed.order, keyed.length, target)
        flags = self.store_keys(keyed, buffers.keys)

        def sort() -> None:
            self.sort_keys(buffers, limit)
            if flags:
                self.emit_if(flags[1], lambda: self.store_zeros(keyed, target))

        def sort_with_nan() -> None:
            """Copy the elements in order, since a key does not determine the bits of NaN."""
            indices = self.order_indices(keyed, limit)
            type = data_type(target)
            self.copy(self.add(codegen.GatherOp(indices, keyed.source, type)), target)

        def merge() -> None:
            self.copy(self.merge_numbers(keyed), target)

        if flags:
            self.emit_if(flags[0], sort_with_nan if keyed.orders_all else merge, sort)
        else:
            sort()

    def store_keys(self, keyed: KeyedArray, keys: SSAValue) -> Sequence[SSAValue]:
        """Store the keys; return whether there is a NaN, and a -0.0, if the numbers are floats."""
        negative_zero = 0 if keyed.order.descending else -1

        def store(index: SSAValue, flags: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, key = self.number_and_key(keyed, index)
            self.set_key(keys, index, key)
            if not flags:
                return ()
            is_negative_zero = arith.CmpiOp(key, self.integer(negative_zero, key.type), "eq")
            return (
                self.add(arith.OrIOp(flags[0], self.is_nan(number))),
                self.add(arith.OrIOp(flags[1], self.add(is_negative_zero))),
            )

        flags = [self.integer(0, i1) for _ in range(2 if keyed.order.is_float else 0)]
        return self.for_each(keyed.length, flags, store)

    def store_zeros(self, keyed: KeyedArray, target: SSAValue) -> None:
        """Store all zeros in their original order, after the numbers that precede them."""
        one, zero = self.emitter.constant(1), self.integer(0, keyed.order.key)

        def count(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _, key = self.number_and_key(keyed, index)
            precedes = self.add(arith.CmpiOp(key, self.integer(-1, key.type), "slt"))
            following = self.add(arith.AddiOp(carried[0], one))
            return (self.add(arith.SelectOp(precedes, following, carried[0])),)

        def store(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, key = self.number_and_key(keyed, index)
            # The keys of the zeros are 0 and -1.
            sign = self.add(arith.ShRSIOp(key, self.integer(keyed.order.width - 1, key.type)))
            is_zero = self.add(arith.CmpiOp(self.add(arith.XOrIOp(key, sign)), zero, "eq"))
            self.emit_if(is_zero, lambda: self.assign_number(keyed, number, target, carried[0]))
            following = self.add(arith.AddiOp(carried[0], one))
            return (self.add(arith.SelectOp(is_zero, following, carried[0])),)

        first = self.for_each(keyed.length, [self.emitter.constant(0)], count)
        self.for_each(keyed.length, first, store)

    def assign_number(
        self, keyed: KeyedArray, number: SSAValue, target: SSAValue, index: SSAValue
    ) -> None:
        value = self.add(codegen.CastOp([number], keyed.number_type))
        self.copy(value, self.add(codegen.IdxOp(target, index)))

    def merge_numbers(self, keyed: KeyedArray) -> SSAValue:
        type = array(keyed.length, keyed.number_type)
        items = self.allocate_buffers(type)
        self.copy(keyed.source, self.add(codegen.CastOp(items, type)))
        return self.merge_sort(type, items, self.comparison(keyed.comparison))

    # Indices

    def order_indices(self, keyed: KeyedArray, limit: Nat) -> SSAValue:
        """Return the indices of the elements in the order of their keys, at least up to a limit."""
        indices = self.allocate_indices(keyed.length)
        buffers = self.key_buffers(PairOrder(), keyed.length, indices)
        flag = self.store_pairs(keyed, buffers.keys)

        def sort() -> None:
            if keyed.order.key == i64:
                self.sort_keys(buffers, keyed.length)
                self.sort_high_words(keyed, limit, indices)
            else:
                self.sort_keys(buffers, limit)

        def merge() -> None:
            precedes = self.comparison(keyed.comparison)
            self.copy(self.merge_indices(keyed.source, keyed.length, precedes), indices)

        if flag is None:
            sort()
        else:
            self.emit_if(flag, merge, sort)
        return indices

    def allocate_indices(self, length: Nat) -> SSAValue:
        type = array(length, idx(length))
        return self.add(codegen.CastOp(self.allocate_buffers(type), type))

    def store_pairs(self, keyed: KeyedArray, pairs: SSAValue) -> SSAValue | None:
        """Store pairs of a key and an index; return whether they do not order the elements.

        A wide key is sorted by its low word first.
        """
        is_wide = keyed.order.key == i64

        def store(index: SSAValue, flags: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, key = self.equal_zeros_key(keyed, index)
            word = key if is_wide else self.add(arith.ExtSIOp(key, i64))
            word = self.add(arith.ShLIOp(word, self.integer(WORD)))
            if is_wide:
                word = self.add(arith.XOrIOp(word, self.integer(SIGN)))
            self.set_key(pairs, index, self.with_index(word, index))
            if keyed.orders_all:
                return flags
            return (self.add(arith.OrIOp(flags[0], self.is_nan(number))),)

        flags: list[SSAValue] = []
        if not keyed.length.is_constant:
            length, limit = self.emitter.length_value(keyed.length), self.emitter.constant(LOW_WORD)
            flags.append(self.add(arith.CmpiOp(length, limit, "ugt")))
        elif not keyed.orders_all:
            flags.append(self.integer(0, i1))
        results = self.for_each(keyed.length, flags, store)
        return results[0] if results else None

    def sort_high_words(self, keyed: KeyedArray, limit: Nat, indices: SSAValue) -> None:
        """Sort indices in the order of the low words of their keys by the high words."""
        positions = self.allocate_indices(keyed.length)
        low_order = self.allocate_indices(keyed.length)
        buffers = self.key_buffers(PairOrder(), keyed.length, positions)
        self.copy(indices, low_order)

        def store(position: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key = self.equal_zeros_key(keyed, self.index_at(low_order, position))[1]
            word = self.add(arith.AndIOp(key, self.integer(~LOW_WORD)))
            self.set_key(buffers.keys, position, self.with_index(word, position))
            return ()

        def store_index(position: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            index = codegen.IdxOp(low_order, self.index_at(positions, position))
            self.copy(self.add(index), self.add(codegen.IdxOp(indices, position)))
            return ()

        self.for_each(keyed.length, (), store)
        self.sort_keys(buffers, limit)
        self.for_each(limit, (), store_index)

    def index_at(self, indices: SSAValue, position: SSAValue) -> SSAValue:
        (index,) = self.unwrap(self.add(codegen.IdxOp(indices, position)))
        return index

    def with_index(self, word: SSAValue, index: SSAValue) -> SSAValue:
        return self.add(arith.OrIOp(word, self.add(arith.IndexCastOp(index, i64))))

    # Keys

    def equal_zeros_key(self, keyed: KeyedArray, index: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Return a number and its key, which is the same for -0.0 and 0.0, and for all NaNs."""
        number, key = self.number_and_key(keyed, index)
        if not keyed.order.is_float:
            return number, key
        zero = self.add(arith.ConstantOp(FloatAttr(0.0, cast(AnyFloat, number.type))))
        positive = self.add(arith.AddfOp(number, zero))
        key = keyed.order.emit_key(self.emitter, positive)
        if keyed.nan is NanPlace.UNORDERED:
            return number, key
        half = 1 << (keyed.order.key.bitwidth - 1)
        extreme = self.integer(half - 1 if keyed.nan is NanPlace.LAST else -half, key.type)
        return number, self.add(arith.SelectOp(self.is_nan(number), extreme, key))

    def number_and_key(self, keyed: KeyedArray, index: SSAValue) -> tuple[SSAValue, SSAValue]:
        element = self.add(codegen.IdxOp(keyed.source, index))
        (number,) = self.unwrap(self.read_application(keyed.number, [element]))
        return number, keyed.order.emit_key(self.emitter, number)

    def is_nan(self, number: SSAValue) -> SSAValue:
        return self.add(arith.CmpfOp(number, number, "uno"))

    def key_buffers(self, order: KeyOrder, length: Nat, target: SSAValue) -> KeyBuffers:
        sort, outputs = KeySort(order, this_machine(), length), whole_buffers(target)
        (output,) = self.allocate_buffers(data_type(target)) if outputs is None else outputs
        keys = output if sort.is_in_output else self.allocate_keys(sort)
        return KeyBuffers(sort, target, output, keys)

    def allocate_keys(self, sort: KeySort) -> SSAValue:
        """Allocate keys, and the elements after them that the sorting function reads."""
        (buffer,) = self.allocate_buffers(array(sort.length + sort.padding, scalar(sort.storage)))
        return buffer

    def sort_keys(self, buffers: KeyBuffers, limit: Nat) -> None:
        """Sort keys, and store what they stand for in the target, at least up to a limit."""
        length = self.emitter.length_value(buffers.sort.length)
        memory = [buffers.output, buffers.keys]
        self.call_sort(buffers.sort, memory, length, self.emitter.length_value(limit))
        if whole_buffers(buffers.target) is None:
            output = codegen.CastOp([buffers.output], data_type(buffers.target))
            self.copy(self.add(output), buffers.target)

    def call_sort(
        self, sort: KeySort, memory: Sequence[SSAValue], length: SSAValue, limit: SSAValue
    ) -> None:
        """Call the function that sorts keys with an output and the keys."""
        assert self.callees is not None
        self.callees.add_library_function(sort.name, sort.function)
        operands = [*map(self.with_dynamic_length, memory), length, limit]
        if sort.permutes:
            operands.append(self.add(self.callees.constant(sort.lane_orders)))
        self.emitter.add(func.CallOp(sort.name, operands, []))

    def with_dynamic_length(self, buffer: SSAValue) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        type = MemRefType(buffer.type.element_type, [DYNAMIC_INDEX])
        return buffer if buffer.type == type else self.add(memref.CastOp.get(buffer, type))

    def set_key(self, keys: SSAValue, index: SSAValue, key: SSAValue) -> None:
        assert isinstance(keys.type, MemRefType)
        value = reinterpret(self.emitter, key, keys.type.element_type)
        self.emitter.add(memref.StoreOp.get(value, keys, [index]))

    def integer(self, number: int, type: Attribute = i64) -> SSAValue:
        assert isinstance(type, IntegerType)
        return self.add(arith.ConstantOp(IntegerAttr(number, type)))

    # Control flow

    def for_each(
        self, length: Nat, inits: Sequence[SSAValue], body: LoopBody
    ) -> Sequence[SSAValue]:
        return self.emitter.loop(length, self.loops, LoopKind.SEQUENTIAL, inits, body)

    def emit_if(
        self,
        condition: SSAValue,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        def without_values(emit: Callable[[], None] | None) -> Sequence[SSAValue]:
            if emit is not None:
                emit()
            return ()

        self.choose(condition, lambda: without_values(then), lambda: without_values(otherwise))

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Emit an `if` with results."""
        blocks, results = (Block(), Block()), ()
        for block, emit in zip(blocks, (then, otherwise), strict=True):
            with self.emitter.inside_block(block):
                results = emit()
                self.emitter.add(scf.YieldOp(*results))
        types = [each.type for each in results]
        op = scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))
        return self.emitter.add(op).results
