"""Decides which parallel loops stay parallel: the outermost ones, and those mapped to a GPU.

A parallel loop inside another one becomes sequential. So does a loop of at most one iteration, so
that a loop inside it can run in parallel instead.
"""

from __future__ import annotations

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from riselang.lowering.loop_emitter import GPU_MAPPING

Parallel = scf.ParallelOp | affine.ParallelOp


def sequentialize_inner_loops(function: Operation) -> None:
    """Replace each inner or short parallel loop by a sequential one."""
    stack = [(block, False) for region in function.regions for block in region.blocks]
    while stack:
        block, is_inside = stack.pop()
        for op in [op for op in block.ops if op.regions]:
            is_of_gpu = GPU_MAPPING in op.attributes
            spreads = isinstance(op, Parallel) and not is_inside and not _is_short(op)
            if isinstance(op, Parallel) and not (spreads or is_of_gpu) and _is_normalized(op):
                op = make_sequential(op)
            inner = is_inside or spreads or is_of_gpu
            stack.extend((block, inner) for region in op.regions for block in region.blocks)


def _is_normalized(op: Parallel) -> bool:
    """Whether the loop has one index, from 0 with step 1, and no results, as lowering emits."""
    if op.results or len(op.body.block.args) != 1:
        return False
    if isinstance(op, affine.ParallelOp):
        (start,), (step,) = op.lowerBoundsMap.data.results, op.steps.data
        return start == AffineConstantExpr(0) and step.value.data == 1
    return _constant_value(op.lowerBound[0]) == 0 and _constant_value(op.step[0]) == 1


def _is_short(op: Parallel) -> bool:
    """Whether the loop is known to have at most one iteration."""
    if not _is_normalized(op):
        return False
    if isinstance(op, affine.ParallelOp):
        (end,) = op.upperBoundsMap.data.results
        return isinstance(end, AffineConstantExpr) and end.value <= 1
    length = _constant_value(op.upperBound[0])
    return length is not None and length <= 1


def _constant_value(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def make_sequential(op: Parallel) -> Operation:
    """Replace a parallel loop by a sequential one, and return it."""
    body = op.body.detach_block(0)
    if isinstance(op, affine.ParallelOp):
        operands, end = list(op.map_operands), op.upperBoundsMap
        loop = affine.ForOp.from_region([], operands, [], [], 0, end, Region(body))
    else:
        end = body.last_op
        assert isinstance(end, scf.ReduceOp)
        end.detach()
        end.erase()
        body.add_op(scf.YieldOp())
        loop = scf.ForOp(op.lowerBound[0], op.upperBound[0], op.step[0], [], Region(body))
    block = op.parent
    assert block is not None
    block.insert_op_before(loop, op)
    op.detach()
    op.erase()
    return loop
