"""Instructions of NVIDIA GPUs in LLVM IR text that MLIR does not emit."""

from __future__ import annotations

import re

from riselang.lowering.gpu.shuffles import SHUFFLE

_TO_BF16 = re.compile(r"= fptrunc float (\S+) to bfloat")
_ROUND = "llvm.nvvm.f2bf16.rn"


def round_to_bf16(ir: str) -> str:
    """Convert f32 to bf16 by an intrinsic: LLVM would also narrow the operation before it."""
    changed, count = _TO_BF16.subn(rf"= call bfloat @{_ROUND}(float \1)", ir)
    return f"{changed}\ndeclare bfloat @{_ROUND}(float)\n" if count else ir


def add_shuffles(ir: str) -> str:
    """Define the function that exchanges values between the lanes of a warp."""
    declaration = re.compile(rf"(?m)^declare i32 @{SHUFFLE}\(i32, i32\).*\n")
    changed, count = declaration.subn("", ir)
    return f"{changed}\n{_SHUFFLE}" if count else ir


_SHUFFLE = f"""declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define internal i32 @{SHUFFLE}(i32 %value, i32 %distance) alwaysinline {{
  %other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 %distance, i32 31)
  ret i32 %other
}}
"""
