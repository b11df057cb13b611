"""Pads buffers in shared memory, so that the lanes of a warp access different banks.

Shared memory has 32 banks of 4 bytes. If lanes access elements of different rows of a buffer whose
rows are a multiple of 128 bytes, all of these elements are in the same bank. If rows are longer by
one access, they start in different banks; the elements at their ends are not used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from riselang.lowering.gpu.mapping import constant_of, mapping_of
from riselang.lowering.temporaries import memref_bytes

BANK_BYTES, ROW_BYTES = 4, 128
LANE_LOOPS = ("thread_x", "lane")
"""Loops whose consecutive iterations are in the same warp."""


def padded_shape(op: memref.AllocaOp | memref.AllocOp) -> list[int]:
    """Return the shape of a buffer for shared memory, with longer rows if that is useful."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    shape = list(type.get_shape())
    bytes = memref_bytes(MemRefType(type.element_type, [1]))
    if len(shape) < 2 or shape[-1] * bytes % ROW_BYTES:
        return shape
    accesses = [use.operation for use in op.memref.uses]
    if any(not isinstance(each, ACCESSES) for each in accesses):
        return shape
    if any(_is_across_rows(each) for each in accesses):
        shape[-1] += max(_access_lanes(accesses) * bytes, BANK_BYTES) // bytes
    return shape


def _access_lanes(accesses: Sequence[Operation]) -> int:
    """Return the number of elements of a row that a thread accesses at once.

    LLVM merges loads of consecutive elements, of which it makes vectors of 4.
    """
    rows: dict[object, set[int]] = defaultdict(set)
    for op in accesses:
        if isinstance(op, memref.LoadOp):
            base, offset = _split_offset(op.indices[-1])
            rows[(op.parent, *op.indices[:-1], base)].add(offset)
    merged = 4 if any({0, 1, 2, 3} <= offsets for offsets in rows.values()) else 1
    return max(merged, *map(_lanes, accesses))


ACCESSES = (memref.LoadOp, memref.StoreOp, vector.LoadOp, vector.StoreOp)


def _split_offset(index: SSAValue) -> tuple[object, int]:
    """Return the expression of an index, without a constant that is added to it."""
    op = index.owner
    if isinstance(op, arith.AddiOp) and (offset := constant_of(op.rhs)) is not None:
        return _expression(op.lhs), offset
    return _expression(index), 0


def _expression(value: SSAValue) -> object:
    """Return an expression that is equal for indices that are computed in the same way."""
    op = value.owner
    if not isinstance(op, Operation) or not op.name.startswith("arith."):
        return value
    constant = constant_of(value)
    return constant if constant is not None else (op.name, *[_expression(x) for x in op.operands])


def _lanes(op: Operation) -> int:
    """Return the number of elements that an access loads or stores."""
    type = op.operands[0].type if isinstance(op, vector.StoreOp) else None
    type = op.results[0].type if isinstance(op, vector.LoadOp) else type
    return type.get_shape()[-1] if isinstance(type, VectorType) else 1


def _is_across_rows(op: Operation) -> bool:
    """Whether the lanes of a warp access different rows."""
    assert isinstance(op, ACCESSES)
    *outer_indices, _ = op.indices
    return any(_depends_on_lane(index) for index in outer_indices)


def _depends_on_lane(value: SSAValue) -> bool:
    return any(
        mapping_of(loop) in LANE_LOOPS
        for part in _operands(value)
        if isinstance(block := part.owner, Block)
        and isinstance(loop := block.parent_op(), scf.ParallelOp)
    )


def _operands(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the values that a value is computed from, and itself."""
    stack, seen = [value], set[SSAValue]()
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            stack += current.owner.operands if isinstance(current.owner, Operation) else ()
