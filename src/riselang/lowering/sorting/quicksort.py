"""A function that sorts integer keys: quicksort between two buffers, with networks for few keys.

Equal keys cannot be distinguished, so the order in which they are moved does not matter. A segment
of the keys is partitioned from the buffer that contains it to the other buffer. A segment of few
keys is sorted by a network, and stored in the output as the numbers that the keys stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.sorting.key_code import KeyCode
from riselang.lowering.sorting.networks import sort_vectors
from riselang.lowering.sorting.ordered_bits import KeyOrder
from riselang.support.machine import Machine

NETWORK_VECTORS = {16: 4}
"""The number of vectors that a network sorts, for lanes; 8 for any other number of lanes."""
MAX_SEGMENTS = 64
"""The capacity of the stack of segments: the smaller one of two segments is sorted first."""
SELECTED_FRACTION = 16
"""Few keys are wanted of a segment if they are less than this fraction of it."""
COMPRESSING_BYTES = 64
"""The vectors that are compressed by one instruction, which AVX-512 has, have this many bytes."""
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
"""The linear congruential generator of Knuth's MMIX, which selects the pivots."""


def network_size(key: IntegerType, machine: Machine) -> int:
    """Return the maximum number of keys of a segment that a network sorts."""
    lanes = machine.lanes(key.width.data // 8)
    return lanes * NETWORK_VECTORS.get(lanes, 8)


@dataclass(frozen=True)
class KeySort:
    """How keys are sorted on a machine."""

    order: KeyOrder
    machine: Machine

    @property
    def name(self) -> str:
        return f"rise_sort_{self.order.name}"

    @property
    def key(self) -> IntegerType:
        return self.order.key

    @property
    def lanes(self) -> int:
        return self.machine.lanes(self.key.width.data // 8)

    @property
    def network_size(self) -> int:
        return network_size(self.key, self.machine)

    @property
    def compresses(self) -> bool:
        return self.machine.vector_bytes == COMPRESSING_BYTES

    def function(self) -> func.FuncOp:
        """Return the function `(output, keys, spare, count, limit)`, which sorts `count` keys.

        It stores at least the first `limit` of them in the output. The buffers of keys have at
        least `count + network_size` elements.
        """
        buffer = MemRefType(self.key, [DYNAMIC_INDEX])
        output = MemRefType(self.order.type, [DYNAMIC_INDEX])
        types = [output, buffer, buffer, IndexType(), IndexType()]
        block = Block(arg_types=types)
        emitter = Emitter(InsertPoint.at_end(block))
        _Quicksort(emitter, self, *block.args).emit()
        emitter.add(func.ReturnOp())
        return func.FuncOp(self.name, (types, []), Region(block), visibility="private")


class _Quicksort(KeyCode):
    """Emits the body of the function."""

    def __init__(self, emitter: Emitter, sort: KeySort, *parameters: SSAValue):
        super().__init__(emitter, sort.key, sort.lanes)
        self.sort = sort
        self.output, self.keys, self.spare, self.total, self.limit = parameters
        self.stack = self.add(memref.AllocaOp.get(IndexType(), shape=[MAX_SEGMENTS, 3]))
        self.zero, self.one = self.index(0), self.index(1)

    def emit(self) -> None:
        self.push(self.zero, (self.zero, self.total, self.zero))
        seed = self.add(arith.ConstantOp(IntegerAttr(INCREMENT, i64)))
        self.emitter.while_loop(
            [self.one, seed],
            lambda carried: self.compare("sgt", carried[0], self.zero),
            lambda carried: self.sort_segment(self.minus(carried[0], self.one), carried[1]),
        )

    def push(self, depth: SSAValue, segment: Sequence[SSAValue]) -> None:
        """Store a segment: its start, its end, and 1 if its keys are in the spare buffer."""
        for position, value in enumerate(segment):
            indices = [depth, self.index(position)]
            self.emitter.add(memref.StoreOp.get(value, self.stack, indices))

    def pop(self, depth: SSAValue) -> list[SSAValue]:
        return [
            self.add(memref.LoadOp.get(self.stack, [depth, self.index(position)]))
            for position in range(3)
        ]

    def sort_segment(self, depth: SSAValue, seed: SSAValue) -> Sequence[SSAValue]:
        """Sort or partition the segment on top of the stack; return the new depth and seed."""
        start, end, side = self.pop(depth)
        is_spare = self.compare("ne", side, self.zero)
        source = self.select(is_spare, self.spare, self.keys)
        target = self.select(is_spare, self.keys, self.spare)
        length = self.minus(end, start)

        def sort() -> Sequence[SSAValue]:
            self.sort_by_network(source, start, length)
            return depth, seed

        def split() -> Sequence[SSAValue]:
            pivot, next_seed = self.select_pivot(source, start, length, seed)
            other_side = self.minus(self.one, side)
            middle = self.partition(source, target, start, end, pivot, "slt")
            return *self.branch(
                self.compare("eq", middle, start),
                lambda: self.split_least(source, target, (start, end, other_side), pivot, depth),
                lambda: self.push_both(depth, start, middle, end, other_side),
            ), next_seed  # fmt: skip

        is_short = self.compare("sle", length, self.index(self.sort.network_size))
        return self.branch(
            self.compare("slt", start, self.limit),
            lambda: self.branch(is_short, sort, split),
            lambda: (depth, seed),
        )

    def sort_by_network(self, source: SSAValue, start: SSAValue, length: SSAValue) -> None:
        most = (1 << (self.key.width.data - 1)) - 1
        padding = self.broadcast(self.constant(most))
        masks: list[SSAValue] = []
        positions: list[SSAValue] = []
        vectors: list[SSAValue] = []
        for offset in range(0, self.sort.network_size, self.lanes):
            masks.append(self.first_lanes(length, offset))
            positions.append(self.plus(start, self.index(offset)))
            keys = self.load_vector(source, positions[-1])
            vectors.append(self.select(masks[-1], keys, padding))
        vectors = sort_vectors(self, vectors)
        for position, mask, keys in zip(positions, masks, vectors, strict=True):
            self.store_lanes(self.to_output(keys), mask, self.output, position)

    def to_output(self, keys: SSAValue) -> SSAValue:
        return self.sort.order.emit_output(self.emitter, keys)

    def select_pivot(
        self, source: SSAValue, start: SSAValue, length: SSAValue, seed: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Return the median of three medians of three keys, and a new seed.

        The nine keys are at equal distances, from a random position on. If few keys are wanted, the
        least of the nine is the pivot.
        """
        seed = self.next_seed(seed)
        distance = self.add(arith.DivUIOp(length, self.index(9)))
        position = self.plus(start, self.random_offset(seed, distance))
        medians: list[SSAValue] = []
        least: SSAValue | None = None
        for _ in range(3):
            samples: list[SSAValue] = []
            for _ in range(3):
                samples.append(self.load(source, position))
                position = self.plus(position, distance)
                least = samples[-1] if least is None else self.least(least, samples[-1])
            medians.append(self.median(*samples))
        assert least is not None
        is_small = self.compare("slt", self.minus(self.limit, start), self.add(
            arith.DivUIOp(length, self.index(SELECTED_FRACTION))
        ))  # fmt: skip
        return self.select(is_small, least, self.median(*medians)), seed

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

    def split_least(
        self,
        source: SSAValue,
        target: SSAValue,
        segment: tuple[SSAValue, SSAValue, SSAValue],
        pivot: SSAValue,
        depth: SSAValue,
    ) -> Sequence[SSAValue]:
        """Separate the keys that equal the pivot, the least key, from the others."""
        start, end, side = segment
        middle = self.partition(source, target, start, end, pivot, "sle")
        self.fill(start, middle, pivot)
        self.push(depth, (middle, end, side))
        return (self.plus(depth, self.one),)

    def fill(self, start: SSAValue, end: SSAValue, key: SSAValue) -> None:
        def store(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.store(number, self.output, index)
            return ()

        number = self.to_output(key)
        self.emitter.range_loop(start, end, self.one, (), store)

    def push_both(
        self, depth: SSAValue, start: SSAValue, middle: SSAValue, end: SSAValue, side: SSAValue
    ) -> Sequence[SSAValue]:
        """Push two segments, the longer one first."""
        is_left_longer = self.compare("sgt", self.minus(middle, start), self.minus(end, middle))

        def choose(left: SSAValue, right: SSAValue) -> tuple[SSAValue, SSAValue]:
            return self.select(is_left_longer, left, right), self.select(
                is_left_longer, right, left
            )

        starts, ends = choose(start, middle), choose(middle, end)
        following = self.plus(depth, self.one)
        self.push(depth, (starts[0], ends[0], side))
        self.push(following, (starts[1], ends[1], side))
        return (self.plus(following, self.one),)

    # Partition

    def partition(
        self,
        source: SSAValue,
        target: SSAValue,
        start: SSAValue,
        end: SSAValue,
        pivot: SSAValue,
        relation: str,
    ) -> SSAValue:
        """Move the keys of a segment to the target: first those in the relation to the pivot.

        Returns where the others start.
        """
        if self.sort.compresses:
            return self.partition_vectors(source, target, start, end, pivot, relation)

        def move(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left, right = carried
            key = self.load(source, index)
            is_left = self.compare(relation, key, pivot)
            before_right = self.minus(right, self.one)
            self.store(key, target, self.select(is_left, left, before_right))
            return (
                self.select(is_left, self.plus(left, self.one), left),
                self.select(is_left, right, before_right),
            )

        return self.emitter.range_loop(start, end, self.one, [start, end], move)[0]

    def partition_vectors(
        self,
        source: SSAValue,
        target: SSAValue,
        start: SSAValue,
        end: SSAValue,
        pivot: SSAValue,
        relation: str,
    ) -> SSAValue:
        pivots, all_lanes = self.broadcast(pivot), self.all_lanes()
        step = self.index(self.lanes)

        def move(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            keys = self.load_vector(source, index)
            is_left = self.compare(relation, keys, pivots)
            is_right = self.add(arith.XOrIOp(is_left, all_lanes))
            return self.compress_both(target, keys, is_left, is_right, step, carried)

        remainder = self.add(arith.RemUIOp(self.minus(end, start), step))
        last = self.minus(end, remainder)
        carried = self.emitter.range_loop(start, last, step, [start, end], move)
        keys, valid = self.load_vector(source, last), self.first_lanes(remainder, 0)
        is_left = self.compare(relation, keys, pivots)
        is_right = self.logical_and(self.add(arith.XOrIOp(is_left, all_lanes)), valid)
        is_left = self.logical_and(is_left, valid)
        return self.compress_both(target, keys, is_left, is_right, remainder, carried)[0]

    def compress_both(
        self,
        target: SSAValue,
        keys: SSAValue,
        is_left: SSAValue,
        is_right: SSAValue,
        count: SSAValue,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Append the left keys to the left part of the target, and prepend the right ones."""
        left, right = carried
        left_count = self.count(is_left)
        new_right = self.minus(right, self.minus(count, left_count))
        self.compress(keys, is_left, target, left)
        self.compress(keys, is_right, target, new_right)
        return self.plus(left, left_count), new_right
