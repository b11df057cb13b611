"""Values of f64, i64 and i1 whose operators insert ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.arith import CmpfOp, CmpiOp, SelectOp, conversion

BIAS, FRACTION = 1023, 52
"""The exponent bias of f64, and the number of fraction bits."""


@dataclass(frozen=True, eq=False)
class Value:
    builder: Builder
    ssa: SSAValue

    def insert(self, op: Operation) -> SSAValue:
        return self.builder.insert(op).results[0]

    def float(self, value: float) -> Double:
        return Double(self.builder, self.insert(arith.ConstantOp(FloatAttr(value, f64))))

    def integer(self, value: int) -> Integer:
        """Return a constant of 64 bits."""
        signed = value - (1 << 64) if value >= 1 << 63 else value
        return Integer(self.builder, self.insert(arith.ConstantOp(IntegerAttr(signed, i64))))


Chosen = TypeVar("Chosen", bound=Value)


class Condition(Value):
    def __and__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.insert(arith.AndIOp(self.ssa, other.ssa)))

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.insert(arith.OrIOp(self.ssa, other.ssa)))

    def __invert__(self) -> Condition:
        true = self.insert(arith.ConstantOp(IntegerAttr(1, i1)))
        return Condition(self.builder, self.insert(arith.XOrIOp(self.ssa, true)))

    def select(self, a: Chosen, b: Chosen) -> Chosen:
        return type(a)(self.builder, self.insert(SelectOp(self.ssa, a.ssa, b.ssa)))


class Double(Value):
    def _operand(self, other: Double | float) -> SSAValue:
        return other.ssa if isinstance(other, Double) else self.float(other).ssa

    def _binary(
        self, op: Callable[[SSAValue, SSAValue], Operation], other: Double | float
    ) -> Double:
        return Double(self.builder, self.insert(op(self.ssa, self._operand(other))))

    def __add__(self, other: Double | float) -> Double:
        return self._binary(arith.AddfOp, other)

    def __sub__(self, other: Double | float) -> Double:
        return self._binary(arith.SubfOp, other)

    def __mul__(self, other: Double | float) -> Double:
        return self._binary(arith.MulfOp, other)

    def __truediv__(self, other: Double | float) -> Double:
        return self._binary(arith.DivfOp, other)

    def __rsub__(self, other: float) -> Double:
        return self.float(other) - self

    def __rtruediv__(self, other: float) -> Double:
        return self.float(other) / self

    def __neg__(self) -> Double:
        return Double(self.builder, self.insert(arith.NegfOp(self.ssa)))

    def __abs__(self) -> Double:
        return Double(self.builder, self.insert(math.AbsFOp(self.ssa)))

    def times_plus(self, factor: Double | float, addend: Double | float) -> Double:
        """Return the product plus a number, rounded once."""
        operands = (self.ssa, self._operand(factor), self._operand(addend))
        return Double(self.builder, self.insert(math.FmaOp(*operands)))

    def sqrt(self) -> Double:
        return Double(self.builder, self.insert(math.SqrtOp(self.ssa)))

    def with_sign_of(self, other: Double) -> Double:
        return Double(self.builder, self.insert(math.CopySignOp(self.ssa, other.ssa)))

    def _compare(self, predicate: str, other: Double | float) -> Condition:
        op = CmpfOp(self.ssa, self._operand(other), predicate)
        return Condition(self.builder, self.insert(op))

    def __lt__(self, other: Double | float) -> Condition:
        return self._compare("olt", other)

    def __gt__(self, other: Double | float) -> Condition:
        return self._compare("ogt", other)

    def equals(self, other: Double | float) -> Condition:
        return self._compare("oeq", other)

    def is_nan(self) -> Condition:
        return self._compare("uno", self)

    def bits(self) -> Integer:
        return Integer(self.builder, self.insert(arith.BitcastOp(self.ssa, i64)))

    def is_negative(self) -> Condition:
        """Whether the sign bit is set."""
        return self.bits() < self.integer(0)

    def polynomial(self, coefficients: Sequence[float]) -> Double:
        """Evaluate a polynomial whose coefficients are given from the lowest degree up."""
        *rest, last = coefficients
        result = self.float(last)
        for each in reversed(rest):
            result = result.times_plus(self, each)
        return result

    def clamp(self, low: float, high: float) -> Double:
        """Limit a number to a range; NaN remains."""
        above = (self < low).select(self.float(low), self)
        return (above > high).select(self.float(high), above)


class Integer(Value):
    def _binary(
        self, op: Callable[[SSAValue, SSAValue], Operation], other: Integer | int
    ) -> Integer:
        operand = other if isinstance(other, Integer) else self.integer(other)
        return Integer(self.builder, self.insert(op(self.ssa, operand.ssa)))

    def __add__(self, other: Integer | int) -> Integer:
        return self._binary(arith.AddiOp, other)

    def __sub__(self, other: Integer | int) -> Integer:
        return self._binary(arith.SubiOp, other)

    def __mul__(self, other: Integer | int) -> Integer:
        return self._binary(arith.MuliOp, other)

    def __and__(self, other: Integer | int) -> Integer:
        return self._binary(arith.AndIOp, other)

    def __or__(self, other: Integer | int) -> Integer:
        return self._binary(arith.OrIOp, other)

    def __lshift__(self, other: Integer | int) -> Integer:
        return self._binary(arith.ShLIOp, other)

    def __rshift__(self, other: Integer | int) -> Integer:
        """Shift a signed number."""
        return self._binary(arith.ShRSIOp, other)

    def shift_right_unsigned(self, other: Integer | int) -> Integer:
        return self._binary(arith.ShRUIOp, other)

    def _compare(self, predicate: str, other: Integer | int) -> Condition:
        operand = other if isinstance(other, Integer) else self.integer(other)
        return Condition(self.builder, self.insert(CmpiOp(self.ssa, operand.ssa, predicate)))

    def __lt__(self, other: Integer | int) -> Condition:
        return self._compare("slt", other)

    def less_unsigned(self, other: Integer | int) -> Condition:
        return self._compare("ult", other)

    def equals(self, other: Integer | int) -> Condition:
        return self._compare("eq", other)

    def as_float(self) -> Double:
        """Interpret the bits as a float."""
        return Double(self.builder, self.insert(arith.BitcastOp(self.ssa, f64)))

    def to_float(self) -> Double:
        """Convert a signed number."""
        return Double(self.builder, self.insert(conversion("arith.sitofp", self.ssa, f64)))

    def power_of_2(self) -> Double:
        """Return 2 to the power of a number that is the exponent of a normal float."""
        return ((self + BIAS) << FRACTION).as_float()


@dataclass(frozen=True, eq=False)
class Pair:
    """The exact sum of two numbers, of which the second is smaller than the last bit of the first,
    or about as small."""

    high: Double
    low: Double

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low)

    def plus(self, other: Pair) -> Pair:
        total = add(self.high, other.high)
        return add_smaller(total.high, total.low + (self.low + other.low))

    def times(self, other: Pair) -> Pair:
        product = multiply(self.high, other.high)
        low = self.low.times_plus(other.high, self.high.times_plus(other.low, product.low))
        return add_smaller(product.high, low)

    def over(self, divisor: Pair) -> Pair:
        quotient = self.high / divisor.high
        rest = (-quotient).times_plus(divisor.high, self.high)
        rest = (rest + self.low) - quotient * divisor.low
        return add_smaller(quotient, rest / divisor.high)

    def rounded(self) -> Double:
        return self.high + self.low


def add(a: Double, b: Double | float) -> Pair:
    """Return the exact sum of any two numbers."""
    total = a + b
    second = total - a
    rest = (a - (total - second)) + ((-second) + b)
    return Pair(total, rest)


def add_smaller(a: Double, b: Double) -> Pair:
    """Return the exact sum of two numbers, of which the second is not larger."""
    total = a + b
    return Pair(total, b - (total - a))


def multiply(a: Double, b: Double | float) -> Pair:
    """Return the exact product of two numbers."""
    product = a * b
    return Pair(product, a.times_plus(b, -product))


def if_else(
    condition: Condition, then: Callable[[Builder], Sequence[Value]],
    otherwise: Callable[[Builder], Sequence[Value]],
) -> list[SSAValue]:  # fmt: skip
    """Compute one of two results, in a branch."""
    regions: list[Region] = []
    types = []
    for branch in (then, otherwise):
        block = Block()
        values = [each.ssa for each in branch(Builder(InsertPoint.at_end(block)))]
        types = [each.type for each in values]
        block.add_op(scf.YieldOp(*values))
        regions.append(Region(block))
    op = scf.IfOp(condition.ssa, types, regions[0], regions[1])
    return list(condition.builder.insert(op).results)
