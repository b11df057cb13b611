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
from riselang.lowering.gpu.bank_conflicts import padded_shape
from riselang.lowering.gpu.mapping import GLOBAL, Launch, is_thread_loop, mapping_of
from riselang.lowering.gpu.privatization import PRIVATE, privatize
from riselang.lowering.temporaries import allocation_bytes
from riselang.support.errors import LimitationError

SHARED_ALIGNMENT = 64
MAX_THREAD_BYTES = 256 << 10
SHARED_MEMORY_SPACE = IntegerAttr(3, i64)
"""The memory space of shared memory."""


def assign_memory(
    kernel: FuncOp, module: GpuModuleOp, launch: Launch, *, max_shared_bytes: int
) -> None:
    """Move the temporaries of a kernel, before its loops are distributed, to their memory."""
    used_bytes = {True: 0, False: 0}
    for op in list(kernel.walk()):
        if isinstance(op, memref.DeallocOp):
            op.detach()
            op.erase()
    for op in list(kernel.walk()):
        if isinstance(op, memref.AllocaOp | memref.AllocOp):
            if launch.threads > 1 and not _is_in_thread(op):
                op = privatize(op, launch)
            is_shared = (
                launch.threads > 1 and not _is_in_thread(op) and PRIVATE not in op.attributes
            )
            used_bytes[is_shared] += allocation_bytes(op)
            max_bytes = max_shared_bytes if is_shared else MAX_THREAD_BYTES
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
        type = MemRefType(type.element_type, padded_shape(op))
        new_ops = _allocate_shared(type, module, kernel.sym_name.data)
        if all(use.operation.name in ACCESSES for use in op.memref.uses):
            new_ops = new_ops[:1]
    else:
        new_ops = [memref.AllocaOp.get(type.element_type, 64, list(type.get_shape()))]
    kernel.body.block.insert_ops_before(new_ops, first)
    op.memref.replace_all_uses_with(new_ops[-1].results[0])
    op.detach()
    op.erase()


ACCESSES = ("memref.load", "memref.store", "vector.load", "vector.store")
"""Ops that accept memory of any space; LLVM derives the alignment only of a known space."""


SHARED = "_shared_"
"""Between the name of a kernel and the number of a buffer in shared memory."""


def kernel_of_shared(name: str) -> str:
    """Return the kernel of a buffer in shared memory."""
    return name.rpartition(SHARED)[0]


def _allocate_shared(type: MemRefType, module: GpuModuleOp, kernel: str) -> list[Operation]:
    """Allocate shared memory, and cast it to the default memory space."""
    count = sum(1 for op in module.body.block.ops if isinstance(op, memref.GlobalOp))
    name = f"{kernel}{SHARED}{count}"
    near = MemRefType(type.element_type, type.get_shape(), NoneAttr(), SHARED_MEMORY_SPACE)
    module.body.block.add_op(
        memref.GlobalOp.get(
            StringAttr(name), near, UnitAttr(), StringAttr("private"), alignment=SHARED_ALIGNMENT
        )
    )
    get_global = memref.GetGlobalOp(SymbolRefAttr(name), near)
    return [get_global, memref.MemorySpaceCastOp(get_global.memref, type)]
