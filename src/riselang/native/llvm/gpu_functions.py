"""Instructions of NVIDIA GPUs in LLVM IR text that MLIR does not emit."""

from __future__ import annotations

import re

from riselang.lowering.gpu.shuffles import SHUFFLE

_TO_BF16 = re.compile(r"= fptrunc float (\S+) to bfloat")
_ROUND = "rise_round_to_bf16"


def round_to_bf16(ir: str) -> str:
    """Convert f32 to bf16 by an intrinsic: LLVM would also narrow the operation before it.

    The conversion of two values is faster than that of one.
    """
    changed, count = _TO_BF16.subn(rf"= call bfloat @{_ROUND}(float \1)", ir)
    return f"{changed}\n{_ROUND_TO_BF16}" if count else ir


_ROUND_TO_BF16 = f"""declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)
define internal bfloat @{_ROUND}(float %value) alwaysinline {{
  %pair = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float 0.0, float %value)
  %rounded = extractelement <2 x bfloat> %pair, i32 0
  ret bfloat %rounded
}}
"""


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
