"""A function that sorts integer keys: quicksort in place, with networks for few keys.

Equal keys cannot be distinguished, so the order in which they are moved does not matter. A segment
of few keys is sorted by a network, and stored in the output as the numbers that the keys stand for.
The output may be the buffer of the keys, since a segment has the same position in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce

from xdsl.dialects import arith, func, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise.attributes import LiteralAttr, literal
from riselang.dialects.rise.types import scalar
from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.sorting.key_code import KeyCode
from riselang.lowering.sorting.networks import sort_vectors
from riselang.lowering.sorting.ordered_bits import KeyOrder
from riselang.nat import Nat
from riselang.support.machine import Machine

MIN_NETWORK_VECTORS = 4
"""The number of vectors that the smallest network sorts."""
MAX_SEGMENTS = 64
"""The capacity of the stack of segments: the smaller one of two segments is sorted first."""
SELECTED_FRACTION = 16
"""Few keys are wanted of a segment if they are less than this fraction of it."""
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
"""The linear congruential generator of Knuth's MMIX, which selects the pivots."""


@dataclass(frozen=True)
class KeySort:
    """How keys are sorted on a machine."""

    order: KeyOrder
    machine: Machine
    length: Nat
    """The maximum number of keys."""

    @property
    def name(self) -> str:
        suffix = f"_{self.networks[-1] * self.lanes}" if self.is_short else ""
        return f"rise_sort_{self.order.name}{suffix}"

    @property
    def key(self) -> IntegerType:
        return self.order.key

    @property
    def lanes(self) -> int:
        return self.machine.lanes(self.key.width.data // 8)

    @property
    def is_short(self) -> bool:
        """Whether one network sorts all keys."""
        largest = self.machine.registers // 2 * self.lanes
        return self.length.is_constant and self.length.constant <= largest

    @property
    def networks(self) -> list[int]:
        """The numbers of vectors that networks sort: at most half of the registers."""
        largest = self.machine.registers // 2
        if not self.is_short:
            return [largest // 2, largest]
        count = MIN_NETWORK_VECTORS
        while count * self.lanes < self.length.constant:
            count *= 2
        return [count]

    @property
    def block(self) -> int:
        """The number of keys that a partition loads from one end of a segment at once.

        A segment that is partitioned consists of at least two blocks.
        """
        return self.lanes * self.networks[-1] // 2

    @property
    def is_in_output(self) -> bool:
        """Whether the keys are sorted in the buffer of the output."""
        return self.machine.has_masks and self.order.width == self.key.width.data

    @property
    def storage(self) -> TypeAttribute:
        """The element type of the buffer of keys."""
        return self.order.type if self.is_in_output else self.key

    @property
    def padding(self) -> int:
        """The number of elements after the keys that the function reads."""
        return 0 if self.machine.has_masks else self.lanes * self.networks[-1]

    @property
    def permutes(self) -> bool:
        """Whether the lanes of vectors are permuted to partition them, for want of masks."""
        permutes = self.machine.permutes_lanes and not self.machine.has_masks
        return permutes and self.key.width.data in (32, 64) and not self.is_short

    @property
    def lane_orders(self) -> LiteralAttr:
        """The orders of 32-bit lanes that move the keys in a mask to the front, for each mask."""
        return _lane_orders(self.lanes, self.key.width.data // 32)

    def function(self) -> func.FuncOp:
        """Return the function `(output, keys, count, limit)`, which sorts `count` keys.

        It stores at least the first `limit` of them in the output. The buffer of keys has at least
        `count + padding` elements. If it permutes lanes, the orders of lanes are the last argument.
        """
        buffer = MemRefType(self.storage, [DYNAMIC_INDEX])
        output = MemRefType(self.order.type, [DYNAMIC_INDEX])
        types: list[Attribute] = [output, buffer, IndexType(), IndexType()]
        if self.permutes:
            types.append(MemRefType(i32, self.lane_orders.shape))
        block = Block(arg_types=types)
        emitter = Emitter(InsertPoint.at_end(block))
        _Quicksort(emitter, self, *block.args).emit()
        emitter.add(func.ReturnOp())
        return func.FuncOp(self.name, (types, []), Region(block), visibility="private")


@cache
def _lane_orders(lanes: int, words: int) -> LiteralAttr:
    rows: list[tuple[int, ...]] = []
    for mask in range(1 << lanes):
        order = sorted(range(lanes), key=lambda lane, mask=mask: not mask >> lane & 1)
        rows.append(tuple(lane * words + word for lane in order for word in range(words)))
    return literal(tuple(rows), scalar(i32))


class _Quicksort(KeyCode):
    """Emits the body of the function."""

    def __init__(self, emitter: Emitter, sort: KeySort, *parameters: SSAValue):
        super().__init__(emitter, sort.key, sort.lanes, sort.storage)
        self.sort = sort
        self.output, self.keys, self.total, self.limit, *orders = parameters
        self.orders = orders[0] if orders else None
        self.zero, self.one = self.index(0), self.index(1)

    def emit(self) -> None:
        if self.sort.is_short:
            self.sort_by_network(self.zero, self.total, self.sort.networks[-1])
        else:
            self.sort_segments()

    def sort_segments(self) -> None:
        self.stack = self.add(memref.AllocaOp.get(IndexType(), shape=[MAX_SEGMENTS, 2]))
        self.push(self.zero, (self.zero, self.total))
        seed = self.add(arith.ConstantOp(IntegerAttr(INCREMENT, i64)))
        self.emitter.while_loop(
            [self.one, seed],
            lambda carried: self.compare("sgt", carried[0], self.zero),
            lambda carried: self.sort_segment(self.minus(carried[0], self.one), carried[1]),
        )

    def push(self, depth: SSAValue, segment: Sequence[SSAValue]) -> None:
        """Store a segment: its start and its end."""
        for position, value in enumerate(segment):
            indices = [depth, self.index(position)]
            self.emitter.add(memref.StoreOp.get(value, self.stack, indices))

    def pop(self, depth: SSAValue) -> list[SSAValue]:
        return [
            self.add(memref.LoadOp.get(self.stack, [depth, self.index(position)]))
            for position in range(2)
        ]

    def sort_segment(self, depth: SSAValue, seed: SSAValue) -> Sequence[SSAValue]:
        """Sort or partition the segment on top of the stack; return the new depth and seed."""
        start, end = self.pop(depth)
        length = self.minus(end, start)

        def sort() -> Sequence[SSAValue]:
            self.sort_by_networks(start, length)
            return depth, seed

        def split_and_push() -> Sequence[SSAValue]:
            pivot, next_seed = self.select_pivot(start, length, seed)
            middle, is_least = self.split(start, end, pivot)
            return *self.branch(
                is_least,
                lambda: self.push_greater(depth, start, middle, end, pivot),
                lambda: self.push_both(depth, start, middle, end),
            ), next_seed  # fmt: skip

        is_short = self.is_sorted_by(self.sort.networks[-1], length)
        return self.branch(
            self.compare("slt", start, self.limit),
            lambda: self.branch(is_short, sort, split_and_push),
            lambda: (depth, seed),
        )

    def is_sorted_by(self, vectors: int, length: SSAValue) -> SSAValue:
        """Return whether the network on a number of vectors sorts a number of keys."""
        return self.compare("sle", length, self.index(vectors * self.lanes))

    def sort_by_networks(self, start: SSAValue, length: SSAValue) -> None:
        """Sort a segment by the smaller one of two networks if it is large enough."""

        def sort(vectors: int) -> Sequence[SSAValue]:
            self.sort_by_network(start, length, vectors)
            return ()

        small, large = self.sort.networks
        self.branch(self.is_sorted_by(small, length), lambda: sort(small), lambda: sort(large))

    def sort_by_network(self, start: SSAValue, length: SSAValue, count: int) -> None:
        """Sort a segment by the network on `count` vectors."""
        masks = [self.first_lanes(length, number * self.lanes) for number in range(count)]
        positions = [self.plus(start, self.index(number * self.lanes)) for number in range(count)]
        vectors = [
            self.load_valid(position, mask) for position, mask in zip(positions, masks, strict=True)
        ]
        for position, mask, keys in zip(positions, masks, sort_vectors(self, vectors), strict=True):
            store = vector.MaskedStoreOp(self.output, [position], mask, self.to_output(keys))
            self.emitter.add(store)

    def load_valid(self, position: SSAValue, mask: SSAValue) -> SSAValue:
        """Load the lanes in a mask; the others become the greatest key."""
        padding = self.broadcast(self.constant((1 << (self.key.width.data - 1)) - 1))
        if self.sort.machine.has_masks:
            return self.load_lanes(self.keys, position, mask, padding)
        return self.select(mask, self.load_vector(self.keys, position), padding)

    def to_output(self, keys: SSAValue) -> SSAValue:
        return self.sort.order.emit_output(self.emitter, keys)

    def select_pivot(
        self, start: SSAValue, length: SSAValue, seed: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Return a key that is about the median, and a new seed.

        Nine vectors are at equal distances, from a random position on. The medians of three medians
        of three of them are sorted, and the middle one is the pivot. If few keys are wanted, the
        least of the nine are sorted instead.
        """
        seed = self.next_seed(seed)
        vector_length = self.index(self.lanes)
        distance = self.add(arith.DivUIOp(self.minus(length, vector_length), self.index(9)))
        position = self.plus(start, self.random_offset(seed, distance))
        samples: list[SSAValue] = []
        for _ in range(9):
            samples.append(self.load_vector(self.keys, position))
            position = self.plus(position, distance)
        medians = [self.median(*samples[first : first + 3]) for first in range(0, 9, 3)]
        is_small = self.compare("slt", self.minus(self.limit, start), self.add(
            arith.DivUIOp(length, self.index(SELECTED_FRACTION))
        ))  # fmt: skip
        least = reduce(self.least, samples)
        (ordered,) = sort_vectors(self, [self.select(is_small, least, self.median(*medians))])
        return self.lane(ordered, self.lanes // 2), seed

    def next_seed(self, seed: SSAValue) -> SSAValue:
        factor, term = (
            self.add(arith.ConstantOp(IntegerAttr(number, i64)))
            for number in (MULTIPLIER, INCREMENT)
        )
        return self.plus(self.add(arith.MuliOp(seed, factor)), term)

    def random_offset(self, seed: SSAValue, limit: SSAValue) -> SSAValue:
        """Return an index below a limit of up to 2^40: a fraction of it with 24 bits."""
        fraction = self.add(arith.ShRUIOp(seed, self.word(40)))
        product = self.add(arith.MuliOp(fraction, self.add(arith.IndexCastOp(limit, i64))))
        offset = self.add(arith.ShRUIOp(product, self.word(24)))
        return self.add(arith.IndexCastOp(offset, IndexType()))

    def word(self, number: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, i64)))

    def median(self, one: SSAValue, other: SSAValue, third: SSAValue) -> SSAValue:
        low, high = self.least(one, other), self.greatest(one, other)
        return self.greatest(low, self.least(high, third))

    def split(self, start: SSAValue, end: SSAValue, pivot: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Partition a segment; return the middle, and whether the pivot is the least key.

        If it is, the keys that are less than the next greater integer are those that equal it.
        """
        two, one_key = self.index(2), self.constant(1)

        def is_empty(carried: Sequence[SSAValue]) -> SSAValue:
            _, middle, count = carried
            nothing_left = self.compare("eq", middle, start)
            return self.logical_and(nothing_left, self.compare("slt", count, two))

        def partition(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            bound, _, count = carried
            middle = self.partition(start, end, bound)
            return self.plus(bound, one_key), middle, self.plus(count, self.one)

        inits = [pivot, start, self.zero]
        _, middle, count = self.emitter.while_loop(inits, is_empty, partition)
        return middle, self.compare("eq", count, two)

    def push_greater(
        self, depth: SSAValue, start: SSAValue, middle: SSAValue, end: SSAValue, pivot: SSAValue
    ) -> Sequence[SSAValue]:
        """Store the keys that equal the pivot, the least key, and push the others."""
        # No integer is greater than the greatest key.
        middle = self.select(self.compare("eq", middle, start), end, middle)
        self.fill(start, middle, pivot)
        self.push(depth, (middle, end))
        return (self.plus(depth, self.one),)

    def fill(self, start: SSAValue, end: SSAValue, key: SSAValue) -> None:
        def store(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.emitter.add(memref.StoreOp.get(number, self.output, [index]))
            return ()

        number = self.to_output(key)
        self.emitter.range_loop(start, end, self.one, (), store)

    def push_both(
        self, depth: SSAValue, start: SSAValue, middle: SSAValue, end: SSAValue
    ) -> Sequence[SSAValue]:
        """Push two segments, the longer one first."""
        is_left_longer = self.compare("sgt", self.minus(middle, start), self.minus(end, middle))

        def choose(left: SSAValue, right: SSAValue) -> tuple[SSAValue, SSAValue]:
            return self.select(is_left_longer, left, right), self.select(
                is_left_longer, right, left
            )

        starts, ends = choose(start, middle), choose(middle, end)
        following = self.plus(depth, self.one)
        self.push(depth, (starts[0], ends[0]))
        self.push(following, (starts[1], ends[1]))
        return (self.plus(following, self.one),)

    # Partition

    def partition(self, start: SSAValue, end: SSAValue, bound: SSAValue) -> SSAValue:
        """Move the keys of a segment that are less than a bound to the front of it.

        Returns where the others start.
        """
        if self.sort.machine.has_masks or self.sort.permutes:
            return self.partition_vectors(start, end, self.broadcast(bound))

        def swap(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (left,) = carried
            key = self.load(self.keys, index)
            self.store(self.load(self.keys, left), self.keys, index)
            self.store(key, self.keys, left)
            is_left = self.compare("slt", key, bound)
            return (self.select(is_left, self.plus(left, self.one), left),)

        return self.emitter.range_loop(start, end, self.one, [start], swap)[0]

    def partition_vectors(self, start: SSAValue, end: SSAValue, bounds: SSAValue) -> SSAValue:
        """Partition a segment of at least two blocks.

        The first and the last block are loaded at the start. Each further block is loaded from the
        end with less space, so that both ends have space for its keys.
        """
        block = self.index(self.sort.block)
        ends = [*self.load_block(start), *self.load_block(self.minus(end, block))]

        def move(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first, last, left, right = carried
            is_first = self.compare("sle", self.minus(first, left), self.minus(right, last))
            before_last = self.minus(last, block)
            for keys in self.load_block(self.select(is_first, first, before_last)):
                left, right = self.store_both(keys, bounds, None, (left, right))
            first_end = self.select(is_first, self.plus(first, block), first)
            return first_end, self.select(is_first, last, before_last), left, right

        first, last, left, right = self.emitter.while_loop(
            [self.plus(start, block), self.minus(end, block), start, end],
            lambda carried: self.compare("sge", self.minus(carried[1], carried[0]), block),
            move,
        )
        remainder = self.minus(last, first)
        offsets = range(0, self.sort.block, self.lanes)
        masks = [self.first_lanes(remainder, offset) for offset in offsets]
        middle = [
            self.load_valid(self.plus(first, self.index(offset)), mask)
            for offset, mask in zip(offsets, masks, strict=True)
        ]
        for keys, valid in (*zip(middle, masks, strict=True), *((each, None) for each in ends)):
            left, right = self.store_both(keys, bounds, valid, (left, right))
        return left

    def load_block(self, position: SSAValue) -> list[SSAValue]:
        offsets = range(0, self.sort.block, self.lanes)
        positions = [self.plus(position, self.index(offset)) for offset in offsets]
        return [self.load_vector(self.keys, each) for each in positions]

    def store_both(
        self,
        keys: SSAValue,
        bounds: SSAValue,
        valid: SSAValue | None,
        space: tuple[SSAValue, SSAValue],
    ) -> tuple[SSAValue, SSAValue]:
        """Store the keys below the bounds at the start of the space, and the others at its end."""
        left, right = space
        is_left = self.compare("slt", keys, bounds)
        is_right = self.add(arith.XOrIOp(is_left, self.all_lanes()))
        if valid is not None:
            is_left, is_right = (self.logical_and(each, valid) for each in (is_left, is_right))
        new_right = self.minus(right, self.count(is_right))
        if self.orders is None:
            self.compress(keys, is_left, self.keys, left)
            self.compress(keys, is_right, self.keys, new_right)
        else:
            self.store_whole(keys, is_left, is_right, valid is not None, (left, right))
        return self.plus(left, self.count(is_left)), new_right

    def store_whole(
        self,
        keys: SSAValue,
        is_left: SSAValue,
        is_right: SSAValue,
        is_partial: bool,
        space: tuple[SSAValue, SSAValue],
    ) -> None:
        """Store all lanes at both ends of the space, those below the bounds first.

        There is space for a vector at each end, whose other lanes are overwritten later; the
        last vector fills it.
        """
        assert self.orders is not None
        left, right = space
        first = last = self.permute(keys, self.orders, is_left)
        if is_partial:
            is_other = self.add(arith.XOrIOp(is_right, self.all_lanes()))
            last = self.permute(keys, self.orders, is_other)
        self.store_vector(first, self.keys, left)
        self.store_vector(last, self.keys, self.minus(right, self.index(self.lanes)))
