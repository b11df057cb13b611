"""Inserts barriers between the statements of a block that access the same memory.

A barrier is needed before a statement that reads or stores what another thread may have stored
since the last barrier, or that stores what another thread may have read since then. Buffers that
are private to a thread need no barriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import gpu, memref, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from riselang.lowering.gpu.mapping import (
    Launch,
    constant_trip_count,
    is_thread_loop,
    mapping_level,
    mapping_of,
)

READING_OPS = (
    "memref.load", "affine.load", "affine.vector_load", "vector.load", "vector.transfer_read",
    "tile.product",
    "tile.attention",
)  # fmt: skip
STORING_OPS = (
    "memref.store", "affine.store", "affine.vector_store", "vector.store", "vector.transfer_write",
)  # fmt: skip
ALIASING_OPS = ("memref.cast", "memref.memory_space_cast", "memref.subview", "memref.view")
"""Ops whose result is their first operand, or a part of it."""


ARGUMENTS = "arguments"
"""The parameters of a kernel that may overlap."""
STAGE, CURRENT, NEXT = "rise.stage", "current", "next"
"""Which half of a buffer an op accesses: that of this iteration, or that of the next one."""
OTHER_STAGE = {CURRENT: NEXT, NEXT: CURRENT}


@dataclass
class Accesses:
    """The buffers that some statements read and store to, which threads may share."""

    reads: set[object] = field(default_factory=set[object])
    stores: set[object] = field(default_factory=set[object])

    def conflicts_with(self, later: Accesses) -> bool:
        return bool(
            self.stores & later.stores or self.stores & later.reads or self.reads & later.stores
        )

    def add(self, other: Accesses) -> None:
        self.reads |= other.reads
        self.stores |= other.stores

    def seen_later(self) -> Accesses:
        """Return the accesses as the next iteration sees them: with the halves exchanged."""
        return Accesses(set(map(_other_half, self.reads)), set(map(_other_half, self.stores)))

    def in_block(self) -> Accesses:
        """Return the accesses to shared memory: of the other memory, the iterations of a parallel
        loop access different parts."""
        return Accesses(
            set(filter(_is_in_block, self.reads)), set(filter(_is_in_block, self.stores))
        )


def _is_in_block(buffer: object) -> bool:
    """Whether a buffer is in shared memory: the others are parameters of the kernel."""
    name = buffer[0] if isinstance(buffer, tuple) else buffer
    return not isinstance(name, BlockArgument) and name != ARGUMENTS


def _other_half(buffer: object) -> object:
    if isinstance(buffer, tuple):
        name, stage = buffer
        return name, OTHER_STAGE[stage]
    return buffer


def insert_barriers(kernel: gpu.FuncOp, launch: Launch) -> None:
    """Insert the barriers of a kernel whose loops are not distributed yet."""
    if launch.threads > 1:
        _Barriers(launch, _Buffers(kernel)).visit_block(kernel.body.block, Accesses(), True)


class _Buffers:
    """The buffers of a kernel: which of them a value may be."""

    def __init__(self, kernel: gpu.FuncOp):
        attributes = kernel.attributes.get("arg_attrs")
        assert isinstance(attributes, ArrayAttr)
        self._noalias = {
            argument
            for argument, each in zip(kernel.body.block.args, attributes, strict=True)
            if isinstance(each, DictionaryAttr) and "llvm.noalias" in each.data
        }

    def of(self, value: SSAValue) -> set[object]:
        """Return the shared buffers that a memref may be; private ones are left out."""
        buffers: set[object] = set()
        stack, seen = [value], set[SSAValue]()
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                sources, buffer = self._sources(current)
                stack += sources
                buffers |= set() if buffer is None else {buffer}
        return buffers

    def _sources(self, value: SSAValue) -> tuple[list[SSAValue], object | None]:
        """Return the values that a value may be equal to, or the buffer that it is."""
        owner = value.owner
        if isinstance(owner, Block) and isinstance(owner.parent_op(), gpu.FuncOp):
            return [], value if value in self._noalias else ARGUMENTS
        op = owner.parent_op() if isinstance(owner, Block) else owner
        assert op is not None
        if op.name in ALIASING_OPS:
            return [op.operands[0]], None
        if op.regions:
            return list(_carried_buffers(op)), None
        if isinstance(op, memref.AllocaOp):
            return [], None
        return [], op.name_.string_value() if isinstance(op, memref.GetGlobalOp) else op


def _carried_buffers(op: Operation) -> Iterator[SSAValue]:
    """Yield the buffers that a loop or a conditional passes to its blocks or returns."""
    ends = [block.last_op for region in op.regions for block in region.blocks]
    for each in (op, *ends):
        if each is not None:
            yield from (value for value in each.operands if isinstance(value.type, MemRefType))


@dataclass(frozen=True)
class _Barriers:
    launch: Launch
    buffers: _Buffers

    def visit_block(self, block: Block, pending: Accesses, inserts: bool) -> Accesses:
        """Visit statements that follow the pending accesses; return those that are then pending."""
        for op in list(block.ops):
            if (body := self._inner_block(op)) is not None:
                if self._is_repeated(op):
                    # The next iteration follows the end of this one.
                    repeated = self.visit_block(body, Accesses(), False).seen_later()
                    pending.add(repeated.in_block() if mapping_of(op) else repeated)
                pending = self.visit_block(body, pending, inserts)
                continue
            accesses = self._accesses(op)
            if pending.conflicts_with(accesses):
                pending = Accesses()
                if inserts:
                    block.insert_op_before(gpu.BarrierOp(), op)
            pending.add(accesses)
        return pending

    def _inner_block(self, op: Operation) -> Block | None:
        """Return the body of a loop that all threads of a block execute together."""
        part = mapping_of(op)
        is_block_loop = part is not None and mapping_level(part) == "block"
        is_shared_loop = isinstance(op, scf.ForOp) and any(map(is_thread_loop, op.walk()))
        return op.regions[0].block if is_block_loop or is_shared_loop else None

    def _is_repeated(self, op: Operation) -> bool:
        if not isinstance(op, scf.ParallelOp):
            return True
        part = mapping_of(op)
        assert part is not None
        return constant_trip_count(op) > self.launch.count(part)

    def _accesses(self, op: Operation) -> Accesses:
        accesses = Accesses()
        for inner in op.walk():
            for value in memory_operands(inner):
                stage = inner.attributes.get(STAGE)
                buffers = self.buffers.of(value)
                if isinstance(stage, StringAttr):
                    buffers = {(buffer, stage.data) for buffer in buffers}
                if inner.name not in STORING_OPS:
                    accesses.reads |= buffers
                if inner.name not in READING_OPS:
                    accesses.stores |= buffers
        return accesses


def memory_operands(op: Operation) -> Iterator[SSAValue]:
    if op.name in ALIASING_OPS or op.regions or op.name in ("scf.yield", "scf.condition"):
        return
    for value in op.operands:
        if isinstance(value.type, MemRefType):
            yield value
