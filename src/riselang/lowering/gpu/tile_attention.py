"""Lowers attention of tiles in kernels to calls of device functions that use tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, gpu, llvm, memref, vector
from xdsl.dialects.builtin import (
    MemRefType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    VectorType,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Operation, Region, SSAValue

from riselang.dialects.module import location_of
from riselang.dialects.tile import AttentionOp
from riselang.lowering.gpu.attention_tiles import TileAttention
from riselang.lowering.gpu.kernel_memory import SHARED, SHARED_MEMORY_SPACE
from riselang.lowering.gpu.mapping import WARP_SIZE, GpuIds, Launch
from riselang.lowering.gpu.tensor_products import TILE_ALIGNMENT, TileOperand
from riselang.support.errors import LimitationError

TILE_ATTENTION = "rise.tile_attention"
"""The attribute of the declaration of a device function: its description."""
SUFFIX = "_attention_"


def check_attention(kernel: gpu.FuncOp, launch: Launch, unit: str) -> None:
    """Report attention that a kernel cannot compute."""
    for op in _find(kernel):
        warps, launched = op.size_values[2], launch.block[0] // WARP_SIZE
        if not unit:
            reason = "tensor cores require a GPU of compute capability 8.0 or later"
        elif warps != launched:
            reason = f"it must be computed by all warps of a block, which has {launched}"
        else:
            reason = describe(op, "").why_not()
        if reason is not None:
            raise LimitationError(f"tensorAttention: {reason}", location_of(op))


def describe(op: AttentionOp, name: str) -> TileAttention:
    """Return the description of attention of a tile."""
    step, stages, warps, row_tiles, column_tiles, count, depth = op.size_values
    buffers = (op.queries, op.keys, op.values)
    dimensions = op.dimension_values
    queries, keys, values = (
        TileOperand(_type(buffer).get_shape(), dimensions[2 * number], dimensions[2 * number + 1])
        for number, buffer in enumerate(buffers)
    )
    return TileAttention(
        name, str(_type(op.queries).element_type), warps, row_tiles, step, stages, count, depth,
        8 * column_tiles, queries, keys, values,
    )  # fmt: skip


def _type(buffer: SSAValue) -> MemRefType:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type


def _find(kernel: gpu.FuncOp) -> list[AttentionOp]:
    return [op for op in kernel.walk() if isinstance(op, AttentionOp)]


def lower_attention(
    kernel: gpu.FuncOp, module: gpu.ModuleOp, ids: GpuIds, shared_bytes: int
) -> None:
    """Replace the attention of a kernel, whose loops are distributed, with calls."""
    for number, op in enumerate(_find(kernel)):
        attention = describe(op, f"{kernel.sym_name.data}{SUFFIX}{number}")
        if attention.shared_bytes > shared_bytes:
            raise LimitationError(
                f"the tiles of tensorAttention take {attention.shared_bytes} bytes of shared "
                f"memory, more than the limit of {shared_bytes}; choose smaller tiles",
                location_of(op),
            )
        _lower(op, attention, kernel, module, ids)


def _lower(
    op: AttentionOp, attention: TileAttention, kernel: gpu.FuncOp, module: gpu.ModuleOp, ids: GpuIds
) -> None:
    block = op.parent
    assert block is not None
    ops: list[Operation] = []

    def add(new_op: Operation) -> SSAValue:
        ops.append(new_op)
        return new_op.results[0]

    operands: list[SSAValue] = []
    for buffer in (op.queries, op.keys, op.values):
        start = add(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
        operands.append(add(llvm.IntToPtrOp(add(arith.IndexCastOp(start, i64)))))
    indices = (*op.query_indices, *op.key_indices, *op.value_indices, ids.id_of("thread_x"))
    operands += [add(arith.IndexCastOp(index, i32)) for index in indices]
    operands += [op.scale, op.empty, add(arith.IndexCastOp(op.last, i32))]
    result = VectorType(f32, [attention.registers])
    _declare(attention, kernel, module, [each.type for each in operands], result)
    results = add(func.CallOp(attention.name, operands, [result]))
    ops.append(vector.StoreOp(results, op.fragment, list(op.fragment_indices)))
    block.insert_ops_before(ops, op)
    op.detach()
    op.erase()


def _declare(
    attention: TileAttention,
    kernel: gpu.FuncOp,
    module: gpu.ModuleOp,
    inputs: Sequence[object],
    result: VectorType,
) -> None:
    """Declare the function, and the shared memory that it uses."""
    type = MemRefType(i8, [attention.shared_bytes], NoneAttr(), SHARED_MEMORY_SPACE)
    buffer = StringAttr(shared_name(attention, kernel.sym_name.data))
    module.body.block.add_op(
        memref.GlobalOp.get(
            buffer, type, UnitAttr(), StringAttr("private"), alignment=TILE_ALIGNMENT
        )
    )
    function = func.FuncOp(attention.name, (list(inputs), [result]), Region(), "private")  # type: ignore[arg-type]
    function.attributes[TILE_ATTENTION] = StringAttr(attention.to_text())
    module.body.block.add_op(function)


def shared_name(attention: TileAttention, kernel: str) -> str:
    """Return the name of the buffer in shared memory of a device function."""
    return f"{kernel}{SHARED}{attention.name}_0"
