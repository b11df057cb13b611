"""Statements over boxes of elements as linalg ops: on arrays, or parts of them, along loops.

Each element is computed as in the statement, in the same order; loops that the target does not have
are reductions, and run upward. Fills, copies, transpositions and matrix multiplications become
named ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, MemRefType, i64
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import (
    CopyOp,
    FillOp,
    GenericOp,
    MatmulOp,
    TransposeOp,
    YieldOp,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Access, Assign, Binary, Fma, Literal
from riselang.frontends.c.tactics.structures import IndexAxis, Operand, Structure

UNIT_STRIDE = Linear(1)


def is_structured(structure: Structure) -> bool:
    """Whether a structure can be an op: on scalars, along upward loops."""
    operands = (structure.target, *structure.reads)
    is_number = not any(each.array.type.is_bool for each in operands)
    is_along = all(
        _axis_span(structure, axis) is not None for each in operands for axis in each.axes
    )
    return is_number and is_along


def _axis_span(structure: Structure, axis: IndexAxis) -> tuple[Linear, Linear] | None:
    """Return the first index of a dimension, and its length; None if it runs downward."""
    first, last = axis.offset, Linear()
    for loop, factor in axis.loops:
        if factor < 0:
            return None
        first = first + structure.ranges[loop].first.times(factor)
        last = last + (structure.ranges[loop].length - UNIT_STRIDE).times(factor)
    return first, last + UNIT_STRIDE


class StructuredEmitter:
    """Emits the op of a statement."""

    def __init__(self, out: ExpressionEmitter, structure: Structure):
        self._out = out
        self._structure = structure
        self._loops = list(structure.ranges)

    def emit(self) -> None:
        structure, out = self._structure, self._out
        with out.at_location(structure.statement.location):
            inputs = [self._operand_buffer(each) for each in structure.reads]
            target = self._operand_buffer(structure.target)
            out.insert(self._emit_named(inputs, target) or self._emit_generic(inputs, target))

    # Ops

    def _emit_generic(self, inputs: Sequence[SSAValue], target: SSAValue) -> Operation:
        structure = self._structure
        shapes, shape_maps = self._shape_operands()
        buffers = [*inputs, *shapes, target]
        block = Block(arg_types=[each.type.element_type for each in buffers
                                 if isinstance(each.type, MemRefType)])  # fmt: skip
        self._fill_block(block, len(shapes))
        kinds = [
            IteratorTypeAttr.parallel() if loop in structure.target.loops
            else IteratorTypeAttr.reduction()
            for loop in self._loops
        ]  # fmt: skip
        maps = [
            *map(self._operand_map, structure.reads),
            *shape_maps,
            self._operand_map(structure.target),
        ]
        return GenericOp(buffers[:-1], buffers[-1:], Region(block), maps, kinds)

    def _emit_named(self, inputs: Sequence[SSAValue], target: SSAValue) -> Operation | None:
        structure, value = self._structure, self._structure.value
        loops = structure.target.loops
        if not inputs and not structure.reduction_loops and isinstance(value, Literal):
            return FillOp([self._out.emit_value(value)], [target], res=())
        if not all(_is_plain(each) for each in (structure.target, *structure.reads)):
            return None
        if isinstance(value, Access) and len(inputs) == 1 and not structure.reduction_loops:
            read = structure.reads[0].loops
            if read == loops:
                return CopyOp(inputs, [target], res=())
            if sorted(read) == sorted(loops):
                order = DenseArrayBase.from_list(i64, [read.index(loop) for loop in loops])
                return TransposeOp(inputs[0], target, order)
        return self._emit_matmul(inputs, target)

    def _emit_matmul(self, inputs: Sequence[SSAValue], target: SSAValue) -> Operation | None:
        """Match `C[i, j] += A[i, k] * B[k, j]`."""
        structure = self._structure
        if (
            len(inputs) != 2
            or len(structure.target.loops) != 2
            or len(structure.reduction_loops) != 1
        ):
            return None
        (i, j), (k,) = structure.target.loops, structure.reduction_loops
        reads = [each.loops for each in structure.reads]
        if sorted(reads) != sorted([(i, k), (k, j)]) or not _is_product(structure):
            return None
        left, right = inputs if reads[0] == (i, k) else inputs[::-1]
        return MatmulOp([left, right], [target], res=())

    def _fill_block(self, block: Block, shapes: int) -> None:
        """Fill the block: its arguments are elements, and it yields the value to store."""
        out, structure = self._out, self._structure
        statement = structure.statement
        outer = (out.statement, dict(out.counters), dict(out.registers))
        out.statement = statement
        for variable, name in statement.iterators:
            out.counters[variable] = Linear.of(name)
        *arguments, last = block.args
        values = [*arguments[: len(arguments) - shapes], last]
        for operand, value in zip((*structure.reads, structure.target), values, strict=True):
            indices = statement.access_relations[operand.access].indices
            assert indices is not None
            out.registers[operand.array, indices] = value
        for scalar in structure.scalars:
            # Elements in memory do not change, and are read once.
            if scalar in statement.access_relations:
                out.registers[scalar.variable, ()] = out.emit_load(scalar)
        body = statement.body
        assert isinstance(body, Assign)
        with out.inside_block(block):
            out.insert(YieldOp(out.emit_value(body.value)))
        out.statement, counters, registers = outer
        out.counters.clear()
        out.counters.update(counters)
        out.registers.clear()
        out.registers.update(registers)

    # Operands

    def _operand_buffer(self, operand: Operand) -> SSAValue:
        """Return the array of an operand, or the part of it that is accessed."""
        out, buffer = self._out, self._out.memory[operand.array]
        spans = [_axis_span(self._structure, axis) for axis in operand.axes]
        extents = self._structure.extents[operand.array]
        if [(Linear(), extent) for extent in extents] == spans:
            return buffer
        firsts = [out.indices.emit_linear(span[0]) for span in spans if span is not None]
        lengths = [self._length_operand(span[1]) for span in spans if span is not None]
        strides = [1] * len(lengths)
        type = buffer.type
        assert isinstance(type, MemRefType)
        result_type = memref.SubviewOp.infer_result_type(type, firsts, lengths, strides)
        return out.add(memref.SubviewOp.get(buffer, firsts, lengths, strides, result_type))

    def _length_operand(self, length: Linear) -> SSAValue | int:
        return length.constant if length.is_constant else self._out.indices.emit_linear(length)

    def _shape_operands(self) -> tuple[list[SSAValue], list[AffineMapAttr]]:
        """Return a dummy buffer for the lengths of loops that no array has alone."""
        structure, out = self._structure, self._out
        operands = (structure.target, *structure.reads)
        alone = {axis.loops[0][0] for each in operands for axis in each.axes
                 if len(axis.loops) == 1 and axis.loops[0][1] == 1}  # fmt: skip
        loops = [loop for loop in self._loops if loop not in alone]
        if not loops:
            return [], []
        lengths = [self._length_operand(structure.ranges[loop].length) for loop in loops]
        shape = [length if isinstance(length, int) else -1 for length in lengths]
        values = [length for length in lengths if not isinstance(length, int)]
        element = structure.target.array.type.stored_type
        buffer = out.add(memref.AllocaOp.get(element, None, shape, values))
        return [buffer], [self._affine_map([Linear.of(loop) for loop in loops])]

    def _operand_map(self, operand: Operand) -> AffineMapAttr:
        return self._affine_map([Linear(0, axis.loops) for axis in operand.axes])

    def _affine_map(self, indices: Sequence[Linear]) -> AffineMapAttr:
        results = tuple(
            index.to_affine(lambda name: AffineExpr.dimension(self._loops.index(name)))
            for index in indices
        )
        return AffineMapAttr(AffineMap(len(self._loops), 0, results))


def _is_plain(operand: Operand) -> bool:
    """Whether each dimension has its own loop."""
    return all(len(axis.loops) == 1 and axis.loops[0][1] == 1 for axis in operand.axes)


def _is_product(structure: Structure) -> bool:
    """Match `target + one * other`, rounded once or twice."""
    value, reads = structure.value, {each.access for each in structure.reads}
    if not value.type.is_float:
        return False
    if isinstance(value, Fma):
        return {value.first, value.second} == reads and value.third == structure.target.access
    if not isinstance(value, Binary) or value.operator != "+":
        return False
    sides = [side for side in (value.left, value.right) if side != structure.target.access]
    return (
        len(sides) == 1
        and isinstance(sides[0], Binary)
        and sides[0].operator == "*"
        and {sides[0].left, sides[0].right} == reads
    )
