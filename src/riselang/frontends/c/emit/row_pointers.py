"""Arrays of row pointers: an access loads the address of a row, then the element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue

from riselang.frontends.c.emit.output import OpInserter
from riselang.frontends.c.parse.syntax import Access

_ADDRESS = IntegerType(64)
_LENGTH_BITS = 32


def table_type() -> MemRefType[Attribute]:
    """Return the type of an array of addresses; its second length is that of the rows."""
    return MemRefType(_ADDRESS, [DYNAMIC_INDEX] * 2, StridedLayoutAttr([1, 0], 0))


def pack_lengths(rows: int, columns: int) -> int:
    """Return the size of an array of row pointers, which callers pass for checks at run time."""
    return rows << _LENGTH_BITS | min(columns, (1 << _LENGTH_BITS) - 1)


def emit_lengths(out: OpInserter, size: SSAValue) -> list[SSAValue]:
    """Emit the lengths in a packed size."""
    factor = out.indices.emit_constant(1 << _LENGTH_BITS)
    return [out.add(arith.DivSIOp(size, factor)), out.add(arith.RemSIOp(size, factor))]


def emit_table_strides(out: OpInserter) -> list[SSAValue]:
    return [out.indices.emit_constant(1), out.indices.emit_constant(0)]


def emit_element_load(
    out: OpInserter, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
) -> SSAValue:
    """Load an element of an array, which may be one of row pointers."""
    if not access.variable.row_pointers:
        return out.add(memref.LoadOp.get(buffer, indices))
    from xdsl.dialects import llvm  # importing it takes long

    address = _emit_address(out, access, buffer, indices)
    return out.add(llvm.LoadOp(address, access.variable.type.stored_type))


def emit_element_store(
    out: OpInserter, value: SSAValue, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
) -> None:
    """Store an element of an array, which may be one of row pointers."""
    if not access.variable.row_pointers:
        out.insert(memref.StoreOp.get(value, buffer, indices))
        return
    from xdsl.dialects import llvm

    out.insert(llvm.StoreOp(value, _emit_address(out, access, buffer, indices)))


def _emit_address(
    out: OpInserter, access: Access, table: SSAValue, indices: Sequence[SSAValue]
) -> SSAValue:
    from xdsl.dialects import llvm

    row, column = indices
    first = out.indices.emit_constant(0)
    start = out.add(llvm.IntToPtrOp(out.add(memref.LoadOp.get(table, [row, first]))))
    distance = out.add(arith.IndexCastOp(column, _ADDRESS))
    element = access.variable.type.stored_type
    return out.add(llvm.GEPOp(start, [llvm.GEP_USE_SSA_VAL], element, ssa_indices=[distance]))
