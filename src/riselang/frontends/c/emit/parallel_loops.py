"""Loops that run in several threads: the outermost ones whose iterations are proved independent."""

from __future__ import annotations

from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from riselang.dialects.affine import Bounds, ParallelOp
from riselang.frontends.c.emit.isl_ast import PARALLEL_MARK
from riselang.frontends.c.emit.parallel_work import MIN_WORK, WorkEstimate

MAX_DEPTH = 1
"""The most loops around one that runs in several threads."""
_LOOPS = (affine.ForOp, scf.ForOp, scf.WhileOp)


def parallelize_loops(function: func.FuncOp) -> None:
    """Make the outermost parallel loops that have others inside of them run in several threads.

    A loop without loops inside it takes less time than to start threads. So do, often, loops that
    are inside of several others, such as those over the rows of a tile.
    """
    stack: list[tuple[Operation, int]] = [(function, 0)]
    while stack:
        op, depth = stack.pop()
        if isinstance(op, affine.ForOp) and _is_worthwhile(op):
            _parallelize(op)
            continue
        depth += isinstance(op, _LOOPS)
        if depth <= MAX_DEPTH:
            stack += [(inner, depth)
                      for region in op.regions for block in region.blocks for inner in block.ops
                      ]  # fmt: skip


def _is_worthwhile(loop: affine.ForOp) -> bool:
    return (
        PARALLEL_MARK in loop.attributes
        and not loop.inits
        and any(isinstance(inner, _LOOPS) for inner in loop.body.walk())
    )


def _parallelize(loop: affine.ForOp) -> None:
    """Run a loop in several threads if it has enough work, else as it is."""
    work = WorkEstimate(loop).emit()
    least = arith.ConstantOp.from_int_and_width(MIN_WORK, IndexType())
    is_enough = arith.CmpiOp(work, least, "sge")
    threaded, plain = Block(), Block()
    choice = scf.IfOp(is_enough, [], Region(threaded), Region(plain))
    for op in (least, is_enough, choice):
        op.location = loop.location
        Rewriter.insert_op(op, InsertPoint.before(loop))
    plain.add_op(loop.clone())
    loop.detach()
    threaded.add_op(loop)
    _run_in_threads(loop)
    for block in (threaded, plain):
        block.add_op(scf.YieldOp())


def _run_in_threads(loop: affine.ForOp) -> None:
    lower, upper = loop.lowerBoundMap.data, loop.upperBoundMap.data
    parallel = ParallelOp.from_bounds(
        Bounds(lower, (len(lower.results),), tuple(loop.lowerBoundOperands)),
        Bounds(upper, (len(upper.results),), tuple(loop.upperBoundOperands)),
        Region(loop.body.detach_block(0)),
        steps=(loop.step.value.data,),
    )
    parallel.location = loop.location
    Rewriter.insert_op(parallel, InsertPoint.before(loop))
    loop.detach()
    loop.erase()
