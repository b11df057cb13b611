"""Emits calls of BLAS routines: pointers, lengths and scalars, in a loop for each batch index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.lowering.assignments import LinearAccess
from riselang.lowering.library_calls import Axis, Call, Matrix, Scale, Vector, element_type
from riselang.lowering.origins import builder_like

ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE = 101, 111, 112
"""Values of the CBLAS enumerations."""
TYPE_LETTERS: Mapping[type[Attribute], str] = {Float32Type: "s", Float64Type: "d"}

Offsets = Mapping[Axis, SSAValue]


def cblas_symbol(routine: str, type: Attribute) -> str:
    """Return the name of a routine in the CBLAS interface."""
    letter = next(
        letter for element_type, letter in TYPE_LETTERS.items() if isinstance(type, element_type)
    )
    return f"cblas_{letter}{routine}"


class CallEmitter:
    """Emits one call."""

    def __init__(self, call: Call, builder: Builder, declared: dict[str, func.FuncOp]):
        self.call = call
        self.type = element_type(call.result.access)
        self.builder = builder
        self.declared = declared

    def emit(self) -> None:
        """Emit the call, in a loop for each index of the batch."""
        self.alpha, self.beta = self.emit_scale(self.call.alpha), self.emit_scale(self.call.beta)
        outer = self.builder
        indices: dict[Axis, SSAValue] = {}
        for axis in self.call.batch:
            block = Block(arg_types=[IndexType()])
            loop = affine.ForOp.from_region([], [], [], [], 0, axis.length, Region(block))
            self.builder.insert(loop)
            end = affine.YieldOp.get()
            block.add_op(end)
            self.builder = builder_like(self.builder, InsertPoint.before(end))
            indices[axis] = block.args[0]
        self._emit_routine(indices)
        self.builder = outer

    def _emit_routine(self, indices: Offsets) -> None:
        call, result = self.call, self.call.result
        lengths = [self.i32_constant(length) for length in call.lengths]
        operands = [self.operand_arguments(each, indices) for each in call.operands]
        target = self.operand_arguments(result, indices)
        match call.routine:
            case "gemm":
                flags = [self.transpose_flag(each) for each in call.operands]
                arguments = [
                    self.i32_constant(ROW_MAJOR), *flags, *lengths, self.alpha,
                    *operands[0], *operands[1], self.beta, *target,
                ]  # fmt: skip
            case "gemv":
                # The lengths are those of the stored matrix, before transposition.
                matrix = call.operands[0]
                assert isinstance(matrix, Matrix)
                lengths = lengths[::-1] if matrix.is_transposed else lengths
                arguments = [
                    self.i32_constant(ROW_MAJOR), self.transpose_flag(matrix), *lengths, self.alpha,
                    *operands[0], *operands[1], self.beta, *target,
                ]  # fmt: skip
            case "ger":
                arguments = [
                    self.i32_constant(ROW_MAJOR), *lengths, self.alpha, *operands[0], *operands[1],
                    *target,
                ]  # fmt: skip
            case _:
                arguments = [*lengths, self.alpha, *operands[0], *target]
        self.invoke(call.routine, arguments)

    def emit_with_result(self) -> SSAValue:
        """Emit a call of a routine that returns its result."""
        lengths = [self.i32_constant(length) for length in self.call.lengths]
        operands = [self.operand_arguments(each, {}) for each in self.call.operands]
        arguments = [*lengths, *(value for operand in operands for value in operand)]
        (value,) = self.invoke(self.call.routine, arguments, [self.type])
        return value

    def invoke(
        self, routine: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] = ()
    ) -> Sequence[SSAValue]:
        name = cblas_symbol(routine, self.type)
        if name not in self.declared:
            types = [value.type for value in arguments]
            self.declared[name] = func.FuncOp.external(name, types, results)
        return self.builder.insert(func.CallOp(name, arguments, results)).results

    # Arguments

    def operand_arguments(self, operand: Matrix | Vector, indices: Offsets) -> list[SSAValue]:
        """Return the address of a matrix or vector, and its stride."""
        return [self.emit_address(operand.access, indices), self.i32_constant(operand.stride)]

    def transpose_flag(self, operand: Matrix | Vector) -> SSAValue:
        is_transposed = isinstance(operand, Matrix) and operand.is_transposed
        return self.i32_constant(TRANSPOSE if is_transposed else NO_TRANSPOSE)

    def i32_constant(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(value, i32)))

    def emit_scale(self, scale: Scale) -> SSAValue:
        assert isinstance(self.type, Float32Type | Float64Type)
        value = self.add(arith.ConstantOp(FloatAttr(scale.coefficient, self.type)))
        factors = [self.add(factor.load.clone()) for factor in scale.factors]
        for factor in (*scale.scalars, *factors):
            value = self.add(arith.MulfOp(value, factor))
        return value

    def emit_address(self, access: LinearAccess, indices: Offsets) -> SSAValue:
        """Emit the address of an element: the start of its buffer plus its offset."""
        start = memref.ExtractAlignedPointerAsIndexOp.get(access.buffer)
        address = self.add(start)
        for distance in self._byte_offsets(access, indices):
            address = self.add(arith.AddiOp(address, distance))
        return self.add(arith.IndexCastOp(address, i64))

    def _byte_offsets(self, access: LinearAccess, indices: Offsets) -> list[SSAValue]:
        assert isinstance(self.type, Float32Type | Float64Type)
        size = self.type.bitwidth // 8
        loop_indices = self.call.loop_indices
        steps = {index: step for index, step in access.strides.items() if index not in loop_indices}
        steps |= {
            index: axis.stride(access) for axis, index in indices.items() if axis.stride(access)
        }
        offsets = [self.index_constant(access.offset * size)] if access.offset else []
        for index, step in steps.items():
            offsets.append(self.add(arith.MuliOp(index, self.index_constant(step * size))))
        return offsets

    def index_constant(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def add(self, op: Operation) -> SSAValue:
        return self.builder.insert(op).results[0]
