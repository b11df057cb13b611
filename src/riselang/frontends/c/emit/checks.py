"""Emission of checked accesses and operations (`bounds_checks.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from riselang.frontends.c.emit.bounds_checks import MOST_DIMENSIONS, REPORT, numbers_of
from riselang.frontends.c.emit.output import Output
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import Access, Binary, Expression, Literal


class CheckEmitter:
    """Emits accesses and operations with their checks."""

    def __init__(self, out: Output):
        self._out = out
        self._numbers = numbers_of(out.scop)

    # Accesses

    def load(self, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Load an element, or zero if it is out of bounds."""
        out, type = self._out, access.variable.type.stored

        def failed() -> SSAValue:
            self._report_indices(access, buffer, indices)
            return self._zero(type)

        is_inside = self._is_inside(buffer, indices)
        return out.choice(
            is_inside, type, lambda: out.add(memref.LoadOp.get(buffer, indices)), failed
        )

    def store(
        self, value: SSAValue, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        out = self._out
        is_inside = self._is_inside(buffer, indices)
        stored, failed = Block(), Block()
        with out.inside(stored):
            out.insert(memref.StoreOp.get(value, buffer, indices))
            out.insert(scf.YieldOp())
        with out.inside(failed):
            self._report_indices(access, buffer, indices)
            out.insert(scf.YieldOp())
        out.insert(scf.IfOp(is_inside, [], Region(stored), Region(failed)))

    def _is_inside(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Emit whether all indices are below the lengths of a buffer."""
        out = self._out
        tests = [
            out.add(arith.CmpiOp(index, self._length(buffer, at), "ult"))
            for at, index in enumerate(indices)
        ]
        total = tests[0]
        for test in tests[1:]:
            total = out.add(arith.AndIOp(total, test))
        return total

    def _length(self, buffer: SSAValue, dimension: int) -> SSAValue:
        return self._out.add(memref.DimOp(buffer, self._out.indices.constant(dimension)))

    # Reports

    def _report_indices(
        self, access: Access, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        """Report the first dimension that is out of bounds; the report keeps the first call."""
        out = self._out
        for at, index in enumerate(indices):
            length = self._length(buffer, at)
            if len(indices) == 1:
                self._report(access, at, index, length)
                return
            outside = out.add(arith.CmpiOp(index, length, "uge"))
            block = Block()
            with out.inside(block):
                self._report(access, at, index, length)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(outside, [], Region(block)))

    def _report(
        self, expression: Expression, dimension: int, index: SSAValue, bound: SSAValue
    ) -> None:
        out = self._out
        assert out.failure is not None
        number = self._numbers[id(expression)] * MOST_DIMENSIONS + dimension
        check = out.add(arith.ConstantOp.from_int_and_width(number, 64))
        out.insert(func.CallOp(REPORT, [out.failure, check, index, bound], []))

    def _zero(self, type: Attribute) -> SSAValue:
        if isinstance(type, IntegerType):
            return self._out.add(arith.ConstantOp.from_int_and_width(0, type))
        return self._out.add(arith.ConstantOp(FloatAttr(0.0, type)))  # type: ignore[arg-type]

    # Operations

    def distance(self, right: SSAValue, type: CType) -> SSAValue:
        """Emit a shift distance in range: LLVM leaves the result of others undefined."""
        most = self._out.add(arith.ConstantOp.from_int_and_width(type.bits - 1, type.bits))
        return self._out.add(arith.AndIOp(right, most))

    def division(
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
        zero = self._zero(type.mlir)

        def failed() -> SSAValue:
            if out.failure is None:
                return zero  # a length, which is checked before the call
            none = out.indices.constant(0)
            self._report(expression, 0, none, none)
            return zero

        def divided() -> SSAValue:
            if not type.is_signed:
                return out.add(operation(left, right))
            ones, least, one = (
                out.add(arith.ConstantOp.from_int_and_width(value, type.bits))
                for value in (-1, type.smallest, 1)
            )
            is_one = out.add(arith.CmpiOp(right, ones, "eq"))
            is_least = out.add(arith.CmpiOp(left, least, "eq"))
            wraps = out.add(arith.AndIOp(is_one, is_least))
            return out.add(operation(left, out.add(arith.SelectOp(wraps, one, right))))

        if isinstance(expression.right, Literal) and expression.right.value != 0:
            return divided()
        is_right = out.add(arith.CmpiOp(right, zero, "ne"))
        return out.choice(is_right, type.mlir, divided, failed)

    def integer(self, value: SSAValue, source: CType, target: CType) -> SSAValue:
        """Emit a float-to-integer conversion; a float out of range becomes the least integer, as on
        CPUs, since LLVM may give a different result at each use."""
        out = self._out
        is_whole = target.bits == 64 or (target.bits == 32 and not target.is_signed)
        bits, is_signed = (64 if is_whole else 32), target.is_signed or target.bits < 64
        low = float(-(1 << (bits - 1))) if is_signed else 0.0
        high = float(1 << (bits - int(is_signed)))
        first, end = (
            out.add(arith.ConstantOp(FloatAttr(each, source.mlir)))  # type: ignore[arg-type]
            for each in (low, high)
        )
        above = out.add(arith.CmpfOp(value, first, "oge"))
        below = out.add(arith.CmpfOp(value, end, "olt"))
        fits = out.add(arith.AndIOp(above, below))
        safe = out.add(arith.SelectOp(fits, value, self._zero(source.mlir)))
        op = arith.FPToSIOp if is_signed else arith.FPToUIOp
        least = out.add(arith.ConstantOp.from_int_and_width(-(1 << (bits - 1)), bits))
        found = out.add(arith.SelectOp(fits, out.add(op(safe, IntegerType(bits))), least))
        if bits == target.bits:
            return found
        return out.add(arith.TruncIOp(found, IntegerType(target.bits)))
