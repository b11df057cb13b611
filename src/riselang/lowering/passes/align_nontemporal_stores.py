"""Pass `align-nontemporal-stores`: vectors are stored past the caches where they are aligned.

x86-64 has nontemporal stores only for vectors that are aligned to their size, so each store checks
its address. A vector that is aligned to 16 bytes only, as NumPy's arrays are, is stored in parts of
16 bytes, and others are stored as usual. The check depends on the address of the array, so LLVM
moves most of it out of the loops.

Nontemporal stores of x86-64 are not ordered with other accesses. A function that contains such
stores therefore ends with a fence. The other threads of a parallel loop end with an atomic
read-modify-write operation (`native/llvm/thread_pool.ll`), which is a fence for these stores, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    FixedBitwidthType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    VectorType,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.constants import index_constant
from riselang.dialects.llvm import FenceOp
from riselang.dialects.module import functions, walk
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack

ALIGNMENT = "alignment"
"""The attribute of a store whose address is known to be aligned."""
MIN_BYTES = 16
"""The size of the shortest vectors that CPUs store past their caches."""


@dataclass(frozen=True)
class AlignNontemporalStoresPass(ModulePass):
    """Makes nontemporal stores check their alignment, and adds the fences that they need."""

    name = "align-nontemporal-stores"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            align_nontemporal_stores(function)


def align_nontemporal_stores(function: func.FuncOp) -> None:
    stores = [op for op in walk(function) if isinstance(op, vector.StoreOp) and _is_unchecked(op)]
    aligned = [store for store in stores if _can_be_aligned(store)]
    for store in stores:
        if store in aligned:
            _check_alignment(store)
        else:
            store.properties.pop("nontemporal")
    if aligned:
        for block in function.body.blocks:
            if isinstance(block.last_op, func.ReturnOp):
                block.insert_op_before(FenceOp(), block.last_op)


def _is_unchecked(store: vector.StoreOp) -> bool:
    return bool(store.nontemporal.value.data) and ALIGNMENT not in store.attributes


def _vector_bytes(store: vector.StoreOp) -> int:
    """Return the size of a vector; 0 if it is not a whole number of bytes."""
    type = store.vector.type
    assert isinstance(type, VectorType)
    element = type.element_type
    if not isinstance(element, FixedBitwidthType) or element.bitwidth % 8:
        return 0
    return type.element_count() * element.size


def _can_be_aligned(store: vector.StoreOp) -> bool:
    """Whether a vector has a size that can be an alignment, and its buffer has rows in order."""
    bytes = _vector_bytes(store)
    assert isinstance(store.base.type, MemRefType)
    has_default_layout = isinstance(store.base.type.layout, NoneAttr)
    return bytes >= MIN_BYTES and bytes.bit_count() == 1 and has_default_layout


def _check_alignment(store: vector.StoreOp) -> None:
    """Store a vector past the caches if its address is aligned, and as usual otherwise."""
    builder = _IndexBuilder(builder_at(InsertPoint.before(store), store.location))
    address = _address(store, builder)
    # LLVM divides a store that is only aligned to shorter vectors into stores of those.
    alignments = sorted({MIN_BYTES, _vector_bytes(store)})
    checked: Operation = vector.StoreOp(store.vector, store.base, store.indices)
    for alignment in alignments:
        misaligned = builder.compute(arith.AndIOp, address, builder.constant(alignment - 1))
        is_aligned = builder.add(arith.CmpiOp(misaligned, builder.constant(0), "eq"))
        aligned = vector.StoreOp(store.vector, store.base, store.indices, BoolAttr.from_bool(True))
        aligned.attributes[ALIGNMENT] = IntegerAttr(alignment, i64)
        first, second = (Region(Block([each, scf.YieldOp()])) for each in (aligned, checked))
        checked = scf.IfOp(is_aligned, [], first, second)
    builder.ops.insert(checked)
    store.detach()
    store.erase()


@dataclass(frozen=True)
class _IndexBuilder:
    """Adds ops on indices."""

    ops: Builder

    def add(self, op: Operation) -> SSAValue:
        return self.ops.insert(op).results[0]

    def constant(self, value: int) -> SSAValue:
        return self.add(index_constant(value))

    def compute(
        self, operation: Callable[[SSAValue, SSAValue], Operation], *operands: SSAValue
    ) -> SSAValue:
        first, second = operands
        return self.add(operation(first, second))


def _address(store: vector.StoreOp, builder: _IndexBuilder) -> SSAValue:
    """Return the address of a store, as an index."""
    type = store.base.type
    assert isinstance(type, MemRefType)
    assert isinstance(type.element_type, FixedBitwidthType)
    position = builder.constant(0)
    for axis, (length, index) in enumerate(zip(type.get_shape(), store.indices, strict=True)):
        size = builder.constant(length)
        if length == DYNAMIC_INDEX:
            size = builder.add(memref.DimOp(store.base, builder.constant(axis)))
        row = builder.compute(arith.MuliOp, position, size)
        position = builder.compute(arith.AddiOp, row, index)
    bytes = builder.constant(type.element_type.size)
    offset = builder.compute(arith.MuliOp, position, bytes)
    start = builder.add(memref.ExtractAlignedPointerAsIndexOp.get(store.base))
    return builder.compute(arith.AddiOp, start, offset)
