"""Calls of BLAS vector routines: gemv, ger, dot, axpy."""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from riselang.frontends.c.emit.library import Routines
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.tactics.routines import Routine
from riselang.frontends.c.tactics.structures import Operand
from riselang.lowering.library_code import ROW_MAJOR


class RoutineEmitter(Routines):
    """Emits the call of a routine."""

    def __init__(self, out: Emitter, routine: Routine):
        super().__init__(out, routine.target.array.type.mlir)
        self._routine = routine
        self._ranges = routine.structure.ranges

    def run(self) -> None:
        calls = {"gemv": self._gemv, "ger": self._ger, "dot": self._dot, "axpy": self._axpy}
        calls[self._routine.name]()

    def _gemv(self) -> None:
        matrix, vector = self._routine.operands
        target, scale = self._routine.target, self._number(self._routine.scale)
        rows, columns = (self._count(loop) for loop in matrix.loops)
        # Not transposed if the target is indexed by rows; otherwise the matrix is the transpose.
        flag = self._flag(matrix.loops[0] != target.loops[0])
        self._invoke("gemv", [
            self._integer(ROW_MAJOR), flag, rows, columns, scale, *self._matrix(matrix),
            *self._vector(vector), self._constant(1.0), *self._vector(target),
        ])  # fmt: skip

    def _ger(self) -> None:
        first, second = self._routine.operands
        rows, columns = (self._count(loop) for loop in self._routine.target.loops)
        self._invoke("ger", [
            self._integer(ROW_MAJOR), rows, columns, self._number(self._routine.scale),
            *self._vector(first), *self._vector(second), *self._matrix(self._routine.target),
        ])  # fmt: skip

    def _axpy(self) -> None:
        (vector,) = self._routine.operands
        count = self._count(vector.loops[0])
        scale = self._number(self._routine.scale)
        target = self._vector(self._routine.target)
        self._invoke("axpy", [count, scale, *self._vector(vector), *target])

    def _dot(self) -> None:
        """Add the scaled sum to the target."""
        first, second = self._routine.operands
        count = self._count(first.loops[0])
        arguments = [count, *self._vector(first), *self._vector(second)]
        total = self._invoke("dot", arguments, self._type)
        assert total is not None
        if self._routine.scale:
            total = self._out.add(arith.MulfOp(self._number(self._routine.scale), total))
        out, statement = self._out, self._routine.structure.statement
        outer, out.statement = out.statement, statement
        for variable, name in statement.iterators:
            out.counters[variable] = Linear.of(name)
        target = self._routine.target.access
        out.store(out.add(arith.AddfOp(out.load(target), total)), target)
        out.statement = outer

    # Arguments

    def _count(self, loop: str) -> SSAValue:
        """Return the trip count of a loop."""
        out = self._out
        length = out.indices.value(self._ranges[loop].length)
        return self._narrow(out.add(arith.MaxSIOp(length, out.indices.constant(0))))

    def _vector(self, operand: Operand) -> list[SSAValue]:
        """Return the address of a vector, and its stride."""
        at = next(at for at, axis in enumerate(operand.axes) if axis.loops)
        return [self._address(operand), self._narrow(self._stride(operand, at))]

    def _matrix(self, operand: Operand) -> list[SSAValue]:
        """Return the address of a matrix, and its leading dimension."""
        return [self._address(operand), self._narrow(self._stride(operand, len(operand.axes) - 2))]

    def _address(self, operand: Operand) -> SSAValue:
        out = self._out
        place = out.indices.constant(0)
        for at, axis in enumerate(operand.axes):
            first = axis.offset
            for loop, _ in axis.loops:
                first = first + self._ranges[loop].first
            moved = arith.MuliOp(out.indices.value(first), self._stride(operand, at))
            place = out.add(arith.AddiOp(place, out.add(moved)))
        size = out.indices.constant(operand.array.type.bits // 8)
        start = out.add(memref.ExtractAlignedPointerAsIndexOp.get(out.memory[operand.array]))
        moved = out.add(arith.MuliOp(place, size))
        return out.add(arith.IndexCastOp(out.add(arith.AddiOp(start, moved)), i64))

    def _stride(self, operand: Operand, at: int) -> SSAValue:
        """Return the stride of a dimension; at least one."""
        out = self._out
        total = out.indices.constant(1)
        for position in range(at + 1, len(operand.axes)):
            place = out.indices.constant(position)
            length = out.add(memref.DimOp(out.memory[operand.array], place))
            total = out.add(arith.MuliOp(total, length))
        return out.add(arith.MaxSIOp(total, out.indices.constant(1)))
