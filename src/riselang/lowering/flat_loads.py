"""Loads from a flattened input, where its indices would be divided.

A program that reads a matrix as an array of one dimension, as in `x.reshape(-1)`, has indices such
as `(i floordiv 40, i mod 40)`. The input is contiguous, so the element is at `i` in a view of one
dimension, and nothing is divided. Only inputs that are never written have such views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import affine, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from riselang.dialects.memref import PrefetchOp
from riselang.dialects.rise import codegen
from riselang.nat import FloorDiv, Mod, Nat

FlatLoads = Mapping[affine.LoadOp, Nat]
"""Loads with divided indices, and the position of the element in the whole array."""
AffineMaps = Callable[[Sequence[Nat]], tuple[AffineMapAttr, list[SSAValue]]]
READS = (affine.LoadOp, memref.LoadOp, codegen.CastOp, PrefetchOp)


def flat_index(buffer: SSAValue, indices: Sequence[Nat]) -> Nat | None:
    """Return the position of an element in an array, if this replaces divided indices."""
    type = buffer.type
    if len(indices) < 2 or not any(map(_is_divided, indices)) or not isinstance(type, MemRefType):
        return None
    lengths = type.get_shape()
    if any(length < 0 for length in lengths) or not isinstance(type.layout, NoneAttr):
        return None
    if not isinstance(buffer, BlockArgument) or not isinstance(buffer.block.parent_op(), FuncOp):
        return None
    position = Nat.const(0)
    for index, length in zip(indices, lengths, strict=True):
        position = position * length + index
    return None if _is_divided(position) else position


def _is_divided(index: Nat) -> bool:
    return any(isinstance(atom, FloorDiv | Mod) for atom in index.atoms())


def flatten_loads(loads: FlatLoads, affine_map: AffineMaps) -> None:
    """Replace loads from inputs that are only read with loads from their views."""
    views: dict[SSAValue, SSAValue | None] = {}
    for load, position in loads.items():
        buffer = load.memref
        if buffer not in views:
            views[buffer] = _flat_view(buffer)
        view = views[buffer]
        block = load.parent
        if view is None or block is None:
            continue
        map, operands = affine_map([position])
        flat = affine.LoadOp.create(
            operands=[view, *operands], result_types=[load.result.type], properties={"map": map}
        )
        block.insert_op_before(flat, load)
        load.result.replace_all_uses_with(flat.result)
        load.detach()
        load.erase()


def _flat_view(buffer: SSAValue) -> SSAValue | None:
    """Return a view of one dimension, which is inserted where the function starts."""
    type = buffer.type
    assert isinstance(buffer, BlockArgument)
    assert isinstance(type, MemRefType)
    if not all(_is_read(use.operation) for use in buffer.uses):
        return None
    lengths = type.get_shape()
    count = 1
    for length in lengths:
        count *= length
    axes = ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in range(len(lengths))])])
    view = memref.CollapseShapeOp.create(
        operands=[buffer],
        result_types=[MemRefType(type.element_type, [count])],
        properties={"reassociation": axes},
    )
    first = buffer.block.first_op
    assert first is not None
    buffer.block.insert_op_before(view, first)
    return view.result


def _is_read(op: Operation) -> bool:
    return isinstance(op, READS)
