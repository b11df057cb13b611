"""Assigns the temporaries of a kernel to thread-local memory or to shared memory."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.gpu import FuncOp
from xdsl.dialects.gpu import ModuleOp as GpuModuleOp
from xdsl.ir import Operation

from riselang.dialects.module import location_of
from riselang.lowering.gpu.mapping import GLOBAL, is_thread_loop, mapping_of
from riselang.lowering.temporaries import allocation_bytes
from riselang.support.errors import LimitationError

MAX_SHARED_BYTES = 48 << 10
MAX_THREAD_BYTES = 256 << 10
SHARED_MEMORY_SPACE = IntegerAttr(3, i64)
"""The memory space of shared memory."""


def assign_memory(kernel: FuncOp, module: GpuModuleOp, *, threads: int) -> None:
    """Move the temporaries of a kernel, before its loops are distributed, to their memory."""
    used_bytes = {True: 0, False: 0}
    for op in list(kernel.walk()):
        if isinstance(op, memref.DeallocOp):
            op.detach()
            op.erase()
    for op in list(kernel.walk()):
        if isinstance(op, memref.AllocaOp | memref.AllocOp):
            is_shared = threads > 1 and not _is_in_thread(op)
            used_bytes[is_shared] += allocation_bytes(op)
            max_bytes = MAX_SHARED_BYTES if is_shared else MAX_THREAD_BYTES
            if used_bytes[is_shared] > max_bytes:
                owner = "the threads of a block share" if is_shared else "a thread has"
                raise LimitationError(
                    f"the temporaries that {owner} take {used_bytes[is_shared]} bytes, more than "
                    f"the limit of {max_bytes}; split the computation, or store values between "
                    "kernels",
                    location_of(op),
                )
            _move_temporary(op, kernel, module, is_shared=is_shared)


def _is_in_thread(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if is_thread_loop(parent) or mapping_of(parent) == GLOBAL:
            return True
        parent = parent.parent_op()
    return False


def _move_temporary(
    op: memref.AllocaOp | memref.AllocOp, kernel: FuncOp, module: GpuModuleOp, *, is_shared: bool
) -> None:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    first = kernel.body.block.first_op
    assert first is not None
    if is_shared:
        new_ops = _allocate_shared(type, module, kernel.sym_name.data)
    else:
        new_ops = [memref.AllocaOp.get(type.element_type, 64, list(type.get_shape()))]
    kernel.body.block.insert_ops_before(new_ops, first)
    op.memref.replace_all_uses_with(new_ops[-1].results[0])
    op.detach()
    op.erase()


def _allocate_shared(type: MemRefType, module: GpuModuleOp, kernel: str) -> list[Operation]:
    """Allocate shared memory, and cast it to the default memory space."""
    count = sum(1 for op in module.body.block.ops if isinstance(op, memref.GlobalOp))
    name = f"{kernel}_shared_{count}"
    near = MemRefType(type.element_type, type.get_shape(), NoneAttr(), SHARED_MEMORY_SPACE)
    module.body.block.add_op(
        memref.GlobalOp.get(StringAttr(name), near, UnitAttr(), StringAttr("private"), alignment=64)
    )
    get_global = memref.GetGlobalOp(SymbolRefAttr(name), near)
    return [get_global, memref.MemorySpaceCastOp(get_global.memref, type)]
