"""Emits scalar and vector code on integer keys, the building blocks of the sorting functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from riselang.dialects.arith import CmpiOp, SelectOp, with_i1_result
from riselang.dialects.vector import CompressStoreOp
from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.sorting.ordered_bits import reinterpret

PERMUTE = "llvm.x86.avx2.permd"
"""The intrinsic that moves the 32-bit lanes of a vector to the positions in another one."""


class KeyCode:
    """Adds ops on keys of a signed integer type, and on vectors of `lanes` keys.

    The elements of the buffers of keys have a type of the same width, which may differ.
    """

    def __init__(self, emitter: Emitter, key: IntegerType, lanes: int, storage: Attribute):
        self.emitter = emitter
        self.key = key
        self.lanes = lanes
        self.storage = storage
        self.vector = VectorType(key, [lanes])
        self.mask = VectorType(i1, [lanes])

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]

    # Scalars

    def index(self, number: int) -> SSAValue:
        return self.emitter.constant(number)

    def constant(self, number: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, self.key)))

    def plus(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(arith.AddiOp(one, other))

    def minus(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(arith.SubiOp(one, other))

    def compare(self, relation: str, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(with_i1_result(CmpiOp(one, other, relation)))

    def select(self, condition: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(SelectOp(condition, one, other))

    def least(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(arith.MinSIOp(one, other))

    def greatest(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(arith.MaxSIOp(one, other))

    def load(self, buffer: SSAValue, index: SSAValue) -> SSAValue:
        return self.to_keys(self.add(memref.LoadOp.get(buffer, [index])))

    def store(self, key: SSAValue, buffer: SSAValue, index: SSAValue) -> None:
        self.emitter.add(memref.StoreOp.get(self.to_storage(key), buffer, [index]))

    def to_keys(self, value: SSAValue) -> SSAValue:
        return reinterpret(self.emitter, value, self.key)

    def to_storage(self, key: SSAValue) -> SSAValue:
        return reinterpret(self.emitter, key, self.storage)

    # Vectors

    def lane_numbers(self, start: int) -> SSAValue:
        """Return the vector `start, start + 1, ...`."""
        numbers = list(range(start, start + self.lanes))
        return self.add(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.vector, numbers)))

    def first_lanes(self, count: SSAValue, start: int) -> SSAValue:
        """Return which lanes are among the first `count`, if the first lane has number `start`."""
        number = self.add(arith.IndexCastOp(count, self.key))
        return self.compare("slt", self.lane_numbers(start), self.broadcast(number))

    def broadcast(self, value: SSAValue) -> SSAValue:
        return self.add(vector.BroadcastOp(value, self.vector))

    def all_lanes(self) -> SSAValue:
        """Return the mask with all lanes."""
        return self.add(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.mask, [1])))

    def load_vector(self, buffer: SSAValue, index: SSAValue) -> SSAValue:
        type = VectorType(self.storage, [self.lanes])
        return self.to_keys(self.add(vector.LoadOp(buffer, [index], type)))

    def load_lanes(
        self, buffer: SSAValue, index: SSAValue, mask: SSAValue, padding: SSAValue
    ) -> SSAValue:
        """Load the lanes in a mask; the others come from `padding`, and are not read."""
        values = vector.MaskedLoadOp(buffer, [index], mask, self.to_storage(padding))
        return self.to_keys(self.add(values))

    def compress(self, keys: SSAValue, mask: SSAValue, buffer: SSAValue, index: SSAValue) -> None:
        """Store the lanes in a mask to adjacent elements."""
        self.emitter.add(CompressStoreOp(buffer, [index], mask, self.to_storage(keys)))

    def permute(self, keys: SSAValue, orders: SSAValue, mask: SSAValue) -> SSAValue:
        """Move the lanes in a mask to the front: `orders` has their order for each mask."""
        from xdsl.dialects import llvm  # importing it takes as long as lowering a small program

        words = VectorType(i32, [self.lanes * self.key.width.data // 32])
        order = self.add(vector.LoadOp(orders, [self.mask_index(mask), self.index(0)], words))
        moved = self.add(vector.BitcastOp(keys, words)) if words != self.vector else keys
        moved = self.add(llvm.CallIntrinsicOp(PERMUTE, [moved, order], [words]))
        return self.add(vector.BitcastOp(moved, self.vector)) if words != self.vector else moved

    def mask_index(self, mask: SSAValue) -> SSAValue:
        """Return a mask as a number whose lowest bit stands for the first lane."""
        bits = self.mask_bits(mask)
        return self.add(arith.IndexCastOp(self.add(arith.ExtUIOp(bits, i64)), IndexType()))

    def mask_bits(self, mask: SSAValue) -> SSAValue:
        word = IntegerType(self.lanes)
        bits = self.add(vector.BitcastOp(mask, VectorType(word, [1])))
        return self.add(vector.ExtractOp(bits, [0], word))

    def store_vector(self, keys: SSAValue, buffer: SSAValue, index: SSAValue) -> None:
        self.emitter.add(vector.StoreOp(self.to_storage(keys), buffer, [index]))

    def lane(self, value: SSAValue, number: int) -> SSAValue:
        return self.add(vector.ExtractOp(value, [number], self.key))

    def count(self, mask: SSAValue) -> SSAValue:
        """Return the number of lanes in a mask as an index."""
        number = self.add(math.CtPopOp(self.mask_bits(mask)))
        # A wider type, since all lanes may be in the mask.
        wide = self.add(arith.ExtUIOp(number, i64)) if self.lanes < 64 else number
        return self.add(arith.IndexCastOp(wide, IndexType()))

    def logical_and(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.add(arith.AndIOp(one, other))

    def shuffle(self, one: SSAValue, other: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """Return lanes of two vectors; those of the second one follow those of the first one."""
        order = DenseArrayBase.from_list(i64, list(lanes))
        return self.add(vector.ShuffleOp(one, other, order, result_type=self.vector))

    # Control flow

    def branch(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Emit an `if` with results."""
        blocks = (Block(), Block())
        results: Sequence[SSAValue] = ()
        for block, emit in zip(blocks, (then, otherwise), strict=True):
            with self.emitter.inside_block(block):
                results = emit()
                self.emitter.add(scf.YieldOp(*results))
        types = [each.type for each in results]
        return self.emitter.add(
            scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))
        ).results
