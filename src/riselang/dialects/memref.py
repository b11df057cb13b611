"""The dialect memref with an op of MLIR that xDSL's has not: `memref.prefetch`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i1, i32
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def

SOON = 3
"""How long it is to stay in caches: the longest that there is."""


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`memref.prefetch`: an element that is accessed soon; it may lie outside of the memory."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(IntegerAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr, prop_name="localityHint")
    is_data = prop_def(IntegerAttr, prop_name="isDataCache")

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue], *, is_write: bool = False):
        properties: dict[str, Attribute] = {
            "isWrite": IntegerAttr(int(is_write), i1),
            "localityHint": IntegerAttr(SOON, i32),
            "isDataCache": IntegerAttr(1, i1),
        }
        super().__init__(operands=[buffer, indices], properties=properties)


MemRef = Dialect(
    "memref", [*memref.MemRef.operations, PrefetchOp], [*memref.MemRef.attributes],
)  # fmt: skip
