"""Emission of checked accesses and operations (`bounds_checks.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from riselang.frontends.c.emit.bounds_checks import MAX_DIMENSIONS, REPORT_FUNCTION, check_numbers
from riselang.frontends.c.emit.output import OpInserter
from riselang.frontends.c.emit.row_pointers import emit_element_load, emit_element_store
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import Access, Binary, Expression, Literal


class CheckEmitter:
    """Emits accesses and operations with their checks."""

    def __init__(self, out: OpInserter):
        self._out = out
        self._numbers = check_numbers(out.scop)

    # Accesses

    def load(self, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Load an element, or zero if it is out of bounds."""
        out, type = self._out, access.variable.type.stored_type

        def report_and_zero() -> SSAValue:
            self._report_indices(access, buffer, indices)
            return self._zero_constant(type)

        is_inside = self._emit_in_bounds(buffer, indices)
        return out.emit_choice(
            is_inside, type, lambda: emit_element_load(out, access, buffer, indices),
            report_and_zero,
        )  # fmt: skip

    def store(
        self, value: SSAValue, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        out = self._out
        is_inside = self._emit_in_bounds(buffer, indices)
        then_block, else_block = Block(), Block()
        with out.inside_block(then_block):
            emit_element_store(out, value, access, buffer, indices)
            out.insert(scf.YieldOp())
        with out.inside_block(else_block):
            self._report_indices(access, buffer, indices)
            out.insert(scf.YieldOp())
        out.insert(scf.IfOp(is_inside, [], Region(then_block), Region(else_block)))

    def _emit_in_bounds(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Emit whether all indices are below the lengths of a buffer."""
        out = self._out
        tests = [
            out.add(arith.CmpiOp(index, self._dimension_length(buffer, position), "ult"))
            for position, index in enumerate(indices)
        ]
        total = tests[0]
        for test in tests[1:]:
            total = out.add(arith.AndIOp(total, test))
        return total

    def _dimension_length(self, buffer: SSAValue, dimension: int) -> SSAValue:
        return self._out.add(memref.DimOp(buffer, self._out.indices.emit_constant(dimension)))

    # Reports

    def _report_indices(
        self, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        """Report the first dimension that is out of bounds; the report keeps the first call."""
        out = self._out
        for position, index in enumerate(indices):
            length = self._dimension_length(buffer, position)
            if len(indices) == 1:
                self._report(access, position, index, length)
                return
            is_out_of_bounds = out.add(arith.CmpiOp(index, length, "uge"))
            block = Block()
            with out.inside_block(block):
                self._report(access, position, index, length)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(is_out_of_bounds, [], Region(block)))

    def _report(
        self, expression: Expression, dimension: int, index: SSAValue, bound: SSAValue
    ) -> None:
        out = self._out
        assert out.failure is not None
        number = self._numbers[id(expression)] * MAX_DIMENSIONS + dimension
        check = out.add(arith.ConstantOp.from_int_and_width(number, 64))
        out.insert(func.CallOp(REPORT_FUNCTION, [out.failure, check, index, bound], []))

    def _zero_constant(self, type: Attribute) -> SSAValue:
        if isinstance(type, IntegerType):
            return self._out.add(arith.ConstantOp.from_int_and_width(0, type))
        return self._out.add(arith.ConstantOp(FloatAttr(0.0, type)))  # type: ignore[arg-type]

    # Operations

    def emit_shift_distance(self, right: SSAValue, type: CType) -> SSAValue:
        """Emit a shift distance in range: LLVM leaves the result of others undefined."""
        max_distance = self._out.add(arith.ConstantOp.from_int_and_width(type.bits - 1, type.bits))
        return self._out.add(arith.AndIOp(right, max_distance))

    def emit_division(
        self,
        expression: Binary,
        left: SSAValue,
        right: SSAValue,
        operation: Callable[..., Operation],
    ) -> SSAValue:
        """Emit an integer division, which fails if the divisor is zero.

        The least number divided by -1 wraps around, as other operations do; some CPUs trap.
        """
        out, type = self._out, expression.type
        zero = self._zero_constant(type.mlir_type)

        def failed() -> SSAValue:
            if out.failure is None:
                return zero  # a length, which is checked before the call
            none = out.indices.emit_constant(0)
            self._report(expression, 0, none, none)
            return zero

        def divide() -> SSAValue:
            if not type.is_signed:
                return out.add(operation(left, right))
            minus_one, smallest, one = (
                out.add(arith.ConstantOp.from_int_and_width(value, type.bits))
                for value in (-1, type.smallest, 1)
            )
            is_one = out.add(arith.CmpiOp(right, minus_one, "eq"))
            is_least = out.add(arith.CmpiOp(left, smallest, "eq"))
            wraps = out.add(arith.AndIOp(is_one, is_least))
            return out.add(operation(left, out.add(arith.SelectOp(wraps, one, right))))

        if isinstance(expression.right, Literal) and expression.right.value != 0:
            return divide()
        is_right = out.add(arith.CmpiOp(right, zero, "ne"))
        return out.emit_choice(is_right, type.mlir_type, divide, failed)

    def emit_float_to_integer(self, value: SSAValue, source: CType, target: CType) -> SSAValue:
        """Emit a float-to-integer conversion; a float out of range becomes the least integer, as on
        CPUs, since LLVM may give a different result at each use."""
        out = self._out
        is_whole = target.bits == 64 or (target.bits == 32 and not target.is_signed)
        bits, is_signed = (64 if is_whole else 32), target.is_signed or target.bits < 64
        low = float(-(1 << (bits - 1))) if is_signed else 0.0
        high = float(1 << (bits - int(is_signed)))
        first, end = (
            out.add(arith.ConstantOp(FloatAttr(each, source.mlir_type)))  # type: ignore[arg-type]
            for each in (low, high)
        )
        is_above = out.add(arith.CmpfOp(value, first, "oge"))
        is_below = out.add(arith.CmpfOp(value, end, "olt"))
        is_in_range = out.add(arith.AndIOp(is_above, is_below))
        safe = out.add(arith.SelectOp(is_in_range, value, self._zero_constant(source.mlir_type)))
        op = arith.FPToSIOp if is_signed else arith.FPToUIOp
        least = out.add(arith.ConstantOp.from_int_and_width(-(1 << (bits - 1)), bits))
        converted = out.add(
            arith.SelectOp(is_in_range, out.add(op(safe, IntegerType(bits))), least)
        )
        if bits == target.bits:
            return converted
        return out.add(arith.TruncIOp(converted, IntegerType(target.bits)))
