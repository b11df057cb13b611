"""Calls of BLAS vector routines: gemv, ger, dot, axpy."""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from riselang.frontends.c.emit.blas_gemm import BlasEmitter
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.tactics.blas_tactics import Routine
from riselang.frontends.c.tactics.structures import Operand
from riselang.lowering.library_code import ROW_MAJOR


class RoutineEmitter(BlasEmitter):
    """Emits the call of a routine."""

    def __init__(self, out: ExpressionEmitter, routine: Routine):
        super().__init__(out, routine.target.array.type.mlir_type)
        self._routine = routine
        self._ranges = routine.structure.ranges

    def emit(self) -> None:
        calls = {
            "gemv": self._emit_gemv,
            "ger": self._emit_ger,
            "dot": self._emit_dot,
            "axpy": self._emit_axpy,
        }
        calls[self._routine.name]()

    def _emit_gemv(self) -> None:
        matrix, vector = self._routine.operands
        target, scale = self._routine.target, self._emit_product(self._routine.scale)
        rows, columns = (self._trip_count(loop) for loop in matrix.loops)
        # Not transposed if the target is indexed by rows; otherwise the matrix is the transpose.
        flag = self._transpose_flag(matrix.loops[0] != target.loops[0])
        self._emit_blas_call("gemv", [
            self._integer_constant(ROW_MAJOR), flag, rows, columns, scale,
            *self._strided_matrix(matrix), *self._vector_operand(vector),
            self._float_constant(1.0), *self._vector_operand(target),
        ])  # fmt: skip

    def _emit_ger(self) -> None:
        first, second = self._routine.operands
        rows, columns = (self._trip_count(loop) for loop in self._routine.target.loops)
        self._emit_blas_call("ger", [
            self._integer_constant(ROW_MAJOR), rows, columns,
            self._emit_product(self._routine.scale), *self._vector_operand(first),
            *self._vector_operand(second), *self._strided_matrix(self._routine.target),
        ])  # fmt: skip

    def _emit_axpy(self) -> None:
        (vector,) = self._routine.operands
        count = self._trip_count(vector.loops[0])
        scale = self._emit_product(self._routine.scale)
        target = self._vector_operand(self._routine.target)
        self._emit_blas_call("axpy", [count, scale, *self._vector_operand(vector), *target])

    def _emit_dot(self) -> None:
        """Add the scaled sum to the target."""
        first, second = self._routine.operands
        count = self._trip_count(first.loops[0])
        arguments = [count, *self._vector_operand(first), *self._vector_operand(second)]
        total = self._emit_blas_call("dot", arguments, self._type)
        assert total is not None
        if self._routine.scale:
            total = self._out.add(arith.MulfOp(self._emit_product(self._routine.scale), total))
        out, statement = self._out, self._routine.structure.statement
        outer, out.statement = out.statement, statement
        for variable, name in statement.iterators:
            out.counters[variable] = Linear.of(name)
        target = self._routine.target.access
        out.emit_store(out.add(arith.AddfOp(out.emit_load(target), total)), target)
        out.statement = outer

    # Arguments

    def _trip_count(self, loop: str) -> SSAValue:
        """Return the trip count of a loop."""
        out = self._out
        length = out.indices.emit_linear(self._ranges[loop].length)
        return self._truncate_to_int(out.add(arith.MaxSIOp(length, out.indices.emit_constant(0))))

    def _vector_operand(self, operand: Operand) -> list[SSAValue]:
        """Return the address of a vector, and its stride."""
        position = next(position for position, axis in enumerate(operand.axes) if axis.loops)
        return [
            self._operand_address(operand),
            self._truncate_to_int(self._dimension_stride(operand, position)),
        ]

    def _strided_matrix(self, operand: Operand) -> list[SSAValue]:
        """Return the address of a matrix, and its leading dimension."""
        return [
            self._operand_address(operand),
            self._truncate_to_int(self._dimension_stride(operand, len(operand.axes) - 2)),
        ]

    def _operand_address(self, operand: Operand) -> SSAValue:
        out = self._out
        offset = out.indices.emit_constant(0)
        for position, axis in enumerate(operand.axes):
            first = axis.offset
            for loop, _ in axis.loops:
                first = first + self._ranges[loop].first
            scaled_offset = arith.MuliOp(
                out.indices.emit_linear(first), self._dimension_stride(operand, position)
            )
            offset = out.add(arith.AddiOp(offset, out.add(scaled_offset)))
        size = out.indices.emit_constant(operand.array.type.bits // 8)
        start = out.add(memref.ExtractAlignedPointerAsIndexOp.get(out.memory[operand.array]))
        scaled_offset = out.add(arith.MuliOp(offset, size))
        return out.add(arith.IndexCastOp(out.add(arith.AddiOp(start, scaled_offset)), i64))

    def _dimension_stride(self, operand: Operand, at: int) -> SSAValue:
        """Return the stride of a dimension; at least one."""
        out = self._out
        total = out.indices.emit_constant(1)
        for position in range(at + 1, len(operand.axes)):
            dimension = out.indices.emit_constant(position)
            length = out.add(memref.DimOp(out.memory[operand.array], dimension))
            total = out.add(arith.MuliOp(total, length))
        return out.add(arith.MaxSIOp(total, out.indices.emit_constant(1)))
