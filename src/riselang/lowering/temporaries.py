"""Hoists temporaries out of sequential loops: small ones to the stack, others to the heap.

Phase 1 allocates where a value is computed. A buffer is filled before it is read in each
iteration, so one buffer serves all iterations of a sequential loop; iterations that run in
parallel need one each. (If MLIR makes such a loop sequential later, `native.mlir` hoists them.)
A buffer on the heap is allocated before the step that fills it, and freed after the last one that
reads it, so that a chain of steps reuses the memory of a few buffers, which stays in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from riselang.dialects.module import walk
from riselang.lowering.translation import TEMPORARY

STACK_LIMIT = 16 * 1024
"""The maximum number of bytes of a temporary on the stack."""
ALIGNMENT = IntegerAttr(64, 64)
"""The alignment in bytes: one cache line."""
STACK_BUDGET = 128 * 1024
"""The maximum stack bytes of all temporaries of a function, including its parallel bodies."""


def hoist_temporaries(function: Operation) -> None:
    """Move each temporary to the start of its function or parallel body; one on the heap to the
    first op there that uses it."""
    stack_bytes = 0
    positions = _Positions()
    for op in list(walk(function)):
        if isinstance(op, memref.AllocaOp) and TEMPORARY in op.attributes:
            size = STACK_LIMIT + 1 if op.dynamic_sizes else allocation_bytes(op)
            on_stack = size <= STACK_LIMIT and stack_bytes + size <= STACK_BUDGET
            stack_bytes += size if on_stack else 0
            block = _allocation_scope(op, on_stack)
            if on_stack:
                _move_to_stack(op, block)
            else:
                _move_to_heap(op, block, positions)


def _allocation_scope(op: Operation, on_stack: bool) -> Block:
    """Return the body of the function or of the innermost parallel loop around the op; for a buffer
    on the heap, the branch of an if that is in no sequential loop, so that only it allocates."""
    block, branch = op.parent, None
    assert block is not None
    while (parent := block.parent_op()) is not None:
        if isinstance(parent, FuncOp | scf.ParallelOp | affine.ParallelOp):
            return block if on_stack or branch is None else branch
        if not isinstance(parent, scf.IfOp):
            branch = None
        elif branch is None:
            branch = block
        assert parent.parent is not None
        block = parent.parent
    return block


def allocation_bytes(op: memref.AllocaOp | memref.AllocOp) -> int:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    return memref_bytes(type)


def memref_bytes(type: MemRefType) -> int:
    element = type.element_type
    width = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    count = 1
    for dimension in type.get_shape():
        count *= dimension
    return count * ((width + 7) // 8)


def _insert_early(op: Operation, block: Block) -> None:
    """Insert an op at the start of a block, after the definitions of its operands."""
    operand_ops = {operand.owner for operand in op.operands}
    last = None
    for preceding_op in block.ops:
        if not operand_ops:
            break
        if preceding_op in operand_ops:
            operand_ops.discard(preceding_op)
            last = preceding_op
    if last is not None:
        block.insert_op_after(op, last)
    elif block.first_op is not None:
        block.insert_op_before(op, block.first_op)


class _Positions:
    """The positions of ops in their blocks."""

    def __init__(self) -> None:
        self._of_block: dict[Block, dict[Operation, int]] = {}

    def bounds(self, ops: Iterable[Operation], block: Block) -> tuple[Operation, Operation]:
        """Return the first and the last op of a block that is one of these ops or contains it."""
        if block not in self._of_block:
            self._of_block[block] = {op: position for position, op in enumerate(block.ops)}
        position_of = self._of_block[block]
        found = sorted({op_in_block(op, block) for op in ops}, key=position_of.__getitem__)
        return found[0], found[-1]


def op_in_block(op: Operation, block: Block) -> Operation:
    """Return the op of a block that is an op, or contains it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _users(value: SSAValue) -> Iterator[Operation]:
    """Yield the ops that use a buffer, also by other names."""
    stack = [value]
    while stack:
        for use in stack.pop().uses:
            yield use.operation
            stack += [each for each in use.operation.results if isinstance(each.type, MemRefType)]


def _move_to_stack(op: memref.AllocaOp, block: Block) -> None:
    op.detach()
    op.alignment = ALIGNMENT
    del op.attributes[TEMPORARY]
    _insert_early(op, block)


def _move_to_heap(op: memref.AllocaOp, block: Block, positions: _Positions) -> None:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    users = list(_users(op.memref))
    if users:
        first, last = positions.bounds(users, block)
        allocation = memref.AllocOp.get(
            type.element_type, ALIGNMENT, list(type.get_shape()), op.dynamic_sizes
        )
        allocation.location = op.location
        block.insert_op_before(allocation, first)
        op.memref.replace_all_uses_with(allocation.memref)
        free = memref.DeallocOp.get(allocation.memref)
        if last.has_trait(IsTerminator):
            block.insert_op_before(free, last)
        else:
            block.insert_op_after(free, last)
    op.detach()
    op.erase()
