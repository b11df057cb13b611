"""Finds temporaries of a block whose elements are each accessed by a single thread.

Such a temporary has dimensions that thread loops index in every access. Each
thread has its own part, without these dimensions, which LLVM keeps in registers if it is indexed
with constants.
"""

from __future__ import annotations

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Block, Operation, SSAValue, Use

from riselang.dialects.tile import AttentionOp, ProductOp
from riselang.lowering.gpu.mapping import (
    Launch,
    constant_trip_count,
    is_thread_loop,
    mapping_of,
)

PRIVATE = "rise.private"
"""Marks a temporary of which each thread has its own."""
Allocation = memref.AllocaOp | memref.AllocOp
Dimensions = dict[str, int]
"""The dimension of a buffer that a thread loop indexes, by what the loop is mapped to."""


def privatize(op: Allocation, launch: Launch) -> Allocation:
    """Replace a temporary by the part of one thread, if no thread accesses that of another."""
    uses = list(op.memref.uses)
    dimensions = [_thread_dimensions(use, launch) for use in uses]
    if not uses or dimensions[0] is None or any(each != dimensions[0] for each in dimensions):
        return op
    dropped = set(dimensions[0].values())
    type = op.memref.type
    assert isinstance(type, MemRefType)
    shape = [size for position, size in enumerate(type.get_shape()) if position not in dropped]
    private = memref.AllocaOp.get(type.element_type, 64, shape)
    private.attributes[PRIVATE] = UnitAttr()
    private.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(private, op)
    for use in uses:
        _redirect(use, private.memref, dropped)
    op.detach()
    op.erase()
    return private


def _thread_dimensions(use: Use, launch: Launch) -> Dimensions | None:
    """Return the dimensions that the thread loops around a use index; None if one does not.

    None also if a thread runs several iterations of such a loop, or accesses other elements.
    """
    indices, lanes = access_indices(use), 1
    if indices is None:
        return None
    if isinstance(use.operation, vector.LoadOp | vector.StoreOp):
        lanes = 2
    dimensions: Dimensions = {}
    loop = use.operation.parent_op()
    while loop is not None:
        if isinstance(loop, scf.ParallelOp) and is_thread_loop(loop):
            part = mapping_of(loop)
            assert part is not None
            iteration = loop.body.block.args[0]
            positions = [at for at, index in enumerate(indices) if index is iteration]
            is_last = lanes > 1 and positions == [len(indices) - 1]
            if not positions or is_last or constant_trip_count(loop) > launch.count(part):
                return None
            dimensions[part] = positions[0]
        loop = loop.parent_op()
    return dimensions or None


def access_indices(use: Use) -> list[SSAValue] | None:
    """Return the indices of a load or store of a buffer; None for other uses of it."""
    op = use.operation
    match op:
        case memref.LoadOp() | memref.StoreOp():
            is_buffer = op.memref is op.operands[use.index]
            return list(op.indices) if is_buffer else None
        case vector.LoadOp() | vector.StoreOp():
            is_buffer = op.base is op.operands[use.index]
            return list(op.indices) if is_buffer else None
        case ProductOp() | AttentionOp():
            return list(op.fragment_indices) if use.index == 0 else None
        case _:
            return None


def _redirect(use: Use, private: SSAValue, dropped: set[int]) -> None:
    """Let a load or store access the thread's own buffer."""
    op, block = use.operation, use.operation.parent
    assert isinstance(block, Block)
    indices = access_indices(use)
    assert indices is not None
    kept = [index for position, index in enumerate(indices) if position not in dropped]
    new_op = with_indices(op, private, kept)
    new_op.location = op.location
    block.insert_op_before(new_op, op)
    for old, new in zip(op.results, new_op.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def with_indices(op: Operation, buffer: SSAValue, indices: list[SSAValue]) -> Operation:
    match op:
        case memref.LoadOp():
            return memref.LoadOp.get(buffer, indices)
        case memref.StoreOp():
            return memref.StoreOp.get(op.value, buffer, indices)
        case vector.LoadOp():
            return vector.LoadOp(buffer, indices, op.result.type)
        case ProductOp():
            return ProductOp(
                (buffer, indices), (op.rows, list(op.row_indices)),
                (op.columns, list(op.column_indices)), op.init, op.size_values,
                op.dimension_values,
            )  # fmt: skip
        case AttentionOp():
            operands = (
                (op.queries, op.query_indices), (op.keys, op.key_indices),
                (op.values, op.value_indices),
            )  # fmt: skip
            return AttentionOp(
                [(buffer, indices), *((each, list(at)) for each, at in operands)],
                (op.scale, op.empty, op.last), op.size_values, op.dimension_values,
            )  # fmt: skip
        case _:
            assert isinstance(op, vector.StoreOp)
            return vector.StoreOp(op.vector, buffer, indices)
