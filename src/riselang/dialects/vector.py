"""The vector dialect with `vector.gather` and `vector.compressstore`, which xDSL does not have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IndexType, MemRefType, VectorType
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    var_operand_def,
)


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Loads elements of a buffer at a vector of indices of its last dimension.

    `offsets` are added to the indices; a lane outside of the mask gets the value of `pass_thru`.
    """

    name = "vector.gather"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType())
    indices = operand_def(VectorType)
    mask = operand_def(VectorType)
    pass_thru = operand_def(VectorType)
    result = result_def(VectorType)

    def __init__(
        self,
        base: SSAValue,
        offsets: Sequence[SSAValue],
        indices: SSAValue,
        mask: SSAValue,
        pass_thru: SSAValue,
    ):
        super().__init__(
            operands=[base, offsets, indices, mask, pass_thru], result_types=[pass_thru.type]
        )


@irdl_op_definition
class CompressStoreOp(IRDLOperation):
    """Stores the lanes in the mask to adjacent elements of a buffer, from `indices` on."""

    name = "vector.compressstore"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    mask = operand_def(VectorType)
    value = operand_def(VectorType)

    def __init__(
        self, base: SSAValue, indices: Sequence[SSAValue], mask: SSAValue, value: SSAValue
    ):
        super().__init__(operands=[base, indices, mask, value])


Vector = Dialect(
    "vector",
    [*vector.Vector.operations, GatherOp, CompressStoreOp],
    list(vector.Vector.attributes),
)
