"""Shared memory that a kernel asks for at launch: all of it, if it is more than 48 KiB."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import MemRefType

from riselang.lowering.gpu.kernel_memory import SHARED_ALIGNMENT, kernel_of_shared
from riselang.lowering.temporaries import memref_bytes

MAX_STATIC_BYTES = 48 << 10
"""The maximum bytes of shared memory that a kernel may declare."""
MEMORY = "dynamic_shared_memory"


@dataclass(frozen=True)
class DynamicMemory:
    """The kernels that ask for their shared memory at launch."""

    bytes: Mapping[str, int]
    """The bytes of shared memory of each of these kernels."""
    offsets: Mapping[str, int]
    """The offset of each of their buffers."""
    alignment: int = SHARED_ALIGNMENT


def dynamic_memory(kernels: gpu.ModuleOp) -> DynamicMemory:
    """Return the kernels that need more shared memory than they may declare."""
    buffers: dict[str, list[tuple[str, int]]] = defaultdict(list)
    globals = [
        op
        for op in kernels.body.block.ops
        if isinstance(op, memref.GlobalOp) and op.constant is None
    ]
    for op in sorted(globals, key=_alignment, reverse=True):
        assert isinstance(op.type, MemRefType)
        size = -(-memref_bytes(op.type) // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
        buffers[kernel_of_shared(op.sym_name.data)].append((op.sym_name.data, size))
    totals = {kernel: sum(size for _, size in sizes) for kernel, sizes in buffers.items()}
    bytes = {kernel: total for kernel, total in totals.items() if total > MAX_STATIC_BYTES}
    offsets: dict[str, int] = {}
    for kernel in bytes:
        offset = 0
        for name, size in buffers[kernel]:
            offsets[name] = offset
            offset += size
    return DynamicMemory(bytes, offsets, max(map(_alignment, globals), default=SHARED_ALIGNMENT))


def _alignment(op: memref.GlobalOp) -> int:
    return SHARED_ALIGNMENT if op.alignment is None else op.alignment.value.data


def place_buffers(ir: str, memory: DynamicMemory) -> str:
    """Replace the buffers of these kernels in LLVM IR by parts of the memory given at launch."""
    if not memory.offsets:
        return ir
    names = "|".join(map(re.escape, sorted(memory.offsets, key=len, reverse=True)))
    lines = re.sub(rf"(?m)^@(?:{names}) = .*\n", "", ir)

    def part(match: re.Match[str]) -> str:
        offset = memory.offsets[match[1]]
        return f"getelementptr (i8, ptr addrspace(3) @{MEMORY}, i64 {offset})"

    placed = re.sub(rf"@({names})\b", part, lines)
    return (
        f"{placed}\n@{MEMORY} = external addrspace(3) global [0 x i8], align {memory.alignment}\n"
    )
