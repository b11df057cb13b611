"""Lowers exchanges between the lanes of a warp to calls of a device function."""

from __future__ import annotations

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import i32
from xdsl.ir import Region

from riselang.dialects.tile import ShuffleOp

SHUFFLE = "shuffle_lanes"
"""The device function that returns the value of the lane whose number differs in some bits."""


def lower_shuffles(kernel: gpu.FuncOp, module: gpu.ModuleOp) -> None:
    """Replace the exchanges of a kernel with calls."""
    shuffles = [op for op in kernel.walk() if isinstance(op, ShuffleOp)]
    for op in shuffles:
        block = op.parent
        assert block is not None
        distance = arith.ConstantOp.from_int_and_width(op.distance.value.data, i32)
        call = func.CallOp(SHUFFLE, [op.value, distance.result], [i32])
        block.insert_ops_before([distance, call], op)
        op.result.replace_all_uses_with(call.results[0])
        op.detach()
        op.erase()
    names = [op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    if shuffles and SHUFFLE not in names:
        module.body.block.add_op(func.FuncOp(SHUFFLE, ([i32, i32], [i32]), Region(), "private"))
