"""Which values are in memory, so that reading them computes only indices."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.types import (
    RiseType,
)


def is_in_memory(value: SSAValue) -> bool:
    """Whether reading the value computes only indices."""
    stack: list[tuple[SSAValue, tuple[int, ...]]] = [(value, ())]
    while stack:
        value, path = stack.pop()
        op = value.owner
        if isinstance(op, EmbedOp | Block):
            return False
        if isinstance(op, codegen.MapReadOp | codegen.GenerateOp):
            if not _is_rearrangement(op):
                return False
            path = ()
        if isinstance(op, codegen.GenerateOp):
            end = op.body.block.last_op
            assert end is not None
            stack.append((end.operands[0], path))
        if isinstance(op, codegen.CastOp):
            continue
        operands = [operand for operand in op.operands if isinstance(operand.type, RiseType)]
        # A position in a pair is kept until the op that makes the pair: only that operand counts.
        if isinstance(op, (codegen.FstOp, codegen.SndOp)):
            path = (*path, int(isinstance(op, codegen.SndOp)))
        elif path and isinstance(op, codegen.ZipOp | codegen.TupleOp):
            operands = [operands[path[-1]]]
            path = path[:-1]
        stack.extend((operand, path) for operand in operands)
    return True


def reads_indices(value: SSAValue) -> bool:
    """Whether reading an array loads the indices of its elements."""
    stack = [value]
    while stack:
        op = stack.pop().owner
        if isinstance(op, codegen.GatherOp):
            return True
        if isinstance(op, Operation) and not isinstance(op, codegen.CastOp):
            stack += [operand for operand in op.operands if isinstance(operand.type, RiseType)]
    return False


def _is_rearrangement(op: codegen.MapReadOp | codegen.GenerateOp) -> bool:
    """Whether the function of an array that is only read computes nothing, only selects parts."""
    views = (
        ViewOp | codegen.ZipOp | codegen.TupleOp | codegen.MapReadOp | codegen.GenerateOp | ReturnOp
    )
    return all(isinstance(inner, views) for inner in op.walk())


def data_type(value: SSAValue) -> RiseType:
    assert isinstance(value.type, RiseType)
    return value.type
