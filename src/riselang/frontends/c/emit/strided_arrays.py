"""The layout of arrays whose elements are members of structures: strides that are constants."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue

from riselang.frontends.c.emit.output import OpInserter
from riselang.frontends.c.parse.syntax import Variable


def array_layout(variable: Variable, shape: Sequence[int]) -> StridedLayoutAttr | NoneAttr:
    """Return the layout of an array in a buffer of a shape; none if it is contiguous."""
    if not variable.is_strided:
        return NoneAttr()
    strides: list[int | None] = []
    for at in reversed(range(len(shape))):
        step = variable.steps[at]
        if step is not None:
            strides.insert(0, step // (variable.type.bits // 8))
        elif not strides:
            strides = [1]
        else:
            inner, length = strides[0], shape[at + 1]
            if inner is not None:
                inner = None if length == DYNAMIC_INDEX else inner * length
            strides.insert(0, inner)
    return StridedLayoutAttr(strides, 0)


def emit_strides(
    out: OpInserter, variable: Variable, lengths: Sequence[SSAValue]
) -> list[SSAValue]:
    """Emit the strides of all dimensions, in elements."""
    strides: list[SSAValue] = []
    for at in reversed(range(len(lengths))):
        step = variable.steps[at] if variable.is_strided else None
        if step is not None:
            strides.insert(0, out.indices.emit_constant(step // (variable.type.bits // 8)))
        elif not strides:
            strides = [out.indices.emit_constant(1)]
        else:
            strides.insert(0, out.add(arith.MuliOp(strides[0], lengths[at + 1])))
    return strides


def emit_span(out: OpInserter, variable: Variable, buffer: SSAValue, bytes: int) -> SSAValue:
    """Emit the number of bytes from the first element of an array to its end."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    if not type.get_num_dims():
        return out.indices.emit_constant(bytes)
    lengths: list[SSAValue] = []
    for at in range(type.get_num_dims()):
        index = out.indices.emit_constant(at)
        lengths.append(out.add(memref.DimOp(buffer, index)))
    outermost = emit_strides(out, variable, lengths)[0]
    elements = out.add(arith.MuliOp(outermost, lengths[0]))
    return out.add(arith.MuliOp(elements, out.indices.emit_constant(bytes)))


def with_layout(
    variable: Variable, element: Attribute, shape: Sequence[int]
) -> MemRefType[Attribute]:
    return MemRefType(element, shape, array_layout(variable, shape))
