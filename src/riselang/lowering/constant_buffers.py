"""Buffers of a module that hold constants, from which literal arrays are read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from riselang.nat import Nat
from riselang.nat.intervals import UNBOUNDED, Interval


def constant_of(buffer: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """Return the elements of a buffer that is constant."""
    op = buffer.owner
    if not isinstance(op, memref.GetGlobalOp):
        return None
    module = op.get_toplevel_object()
    if not isinstance(module, ModuleOp):
        return None  # the op is in a block that is not a part of the module yet
    found = SymbolTable.lookup_symbol(module, op.name_)
    if not isinstance(found, memref.GlobalOp) or found.constant is None:
        return None
    value = found.initial_value
    return value if isinstance(value, DenseIntOrFPElementsAttr) else None


def constant_element(buffer: SSAValue, indices: Sequence[Nat]) -> arith.ConstantOp | None:
    """Return the element of a constant buffer at known indices."""
    if not all(index.is_constant for index in indices):
        return None
    value, type = constant_of(buffer), buffer.type
    if value is None:
        return None
    assert isinstance(type, MemRefType)
    position = 0
    for index, length in zip(indices, type.get_shape(), strict=True):
        if not 0 <= index.constant < length:
            return None
        position = position * length + index.constant
    elements = list(value.get_attrs())
    return arith.ConstantOp(elements[position if len(elements) > 1 else 0])


def interval_of_load(op: Operation) -> Interval:
    """Return the interval of the integers that an op may load from a constant buffer."""
    value = constant_of(op.operands[0])
    if value is None:
        return UNBOUNDED
    numbers = [number for number in value.get_values() if isinstance(number, int)]
    return Interval(min(numbers), max(numbers)) if numbers else UNBOUNDED
