"""Builds arith and math ops on f32 scalars or vectors, and on their bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    VectorType,
    f32,
    i32,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from riselang.dialects.arith import CmpfOp, CmpiOp, SelectOp, conversion, with_i1_result

CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""A multiplication and an addition may become one `fma`."""


@dataclass(frozen=True)
class Arithmetic:
    """Inserts ops with a builder; all values have one type, or are integers of the same width."""

    builder: Builder
    type: Attribute

    @property
    def _integer_type(self) -> Attribute:
        return VectorType(i32, self.type.get_shape()) if isinstance(self.type, VectorType) else i32

    def _insert(self, op: Operation) -> SSAValue:
        return self.builder.insert(op).results[0]

    def float_constant(self, value: float) -> SSAValue:
        return self._constant(value, FloatAttr(value, f32), self.type)

    def integer_constant(self, value: int) -> SSAValue:
        return self._constant(value, IntegerAttr(value, i32), self._integer_type)

    def _constant(
        self, value: float, attribute: FloatAttr | IntegerAttr, type: Attribute
    ) -> SSAValue:
        if isinstance(type, VectorType):
            repeated = DenseIntOrFPElementsAttr.from_list(type, [value])
            return self._insert(arith.ConstantOp(repeated, type))
        return self._insert(arith.ConstantOp(attribute, type))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.AddfOp(a, b, CONTRACT))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.SubfOp(a, b, CONTRACT))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.MulfOp(a, b, CONTRACT))

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.DivfOp(a, b))

    def max(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.MaximumfOp(a, b))

    def min(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.MinimumfOp(a, b))

    def polynomial(self, coefficients: Sequence[float], x: SSAValue) -> SSAValue:
        """Evaluate a polynomial whose coefficients are given from the highest degree down."""
        first, *lower_coefficients = coefficients
        value = self.float_constant(first)
        for coefficient in lower_coefficients:
            value = self.add(self.mul(value, x), self.float_constant(coefficient))
        return value

    def abs(self, x: SSAValue) -> SSAValue:
        return self._insert(math.AbsFOp(x))

    def copysign(self, x: SSAValue, sign: SSAValue) -> SSAValue:
        return self._insert(math.CopySignOp(x, sign))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(SelectOp(condition, a, b))

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(with_i1_result(CmpfOp(a, b, "olt")))

    def equal(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(with_i1_result(CmpfOp(a, b, "oeq")))

    def is_nan(self, x: SSAValue) -> SSAValue:
        return self._insert(with_i1_result(CmpfOp(x, x, "uno")))

    def bitcast_to_int(self, x: SSAValue) -> SSAValue:
        """Bitcast a float to an integer."""
        return self._insert(arith.BitcastOp(x, self._integer_type))

    def bitcast_to_float(self, x: SSAValue) -> SSAValue:
        """Bitcast an integer to a float."""
        return self._insert(arith.BitcastOp(x, self.type))

    def from_int(self, x: SSAValue) -> SSAValue:
        return self._insert(conversion("arith.sitofp", x, self.type))

    def add_int(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.AddiOp(a, b))

    def sub_int(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.SubiOp(a, b))

    def bitwise_and(self, a: SSAValue, mask: int) -> SSAValue:
        return self._insert(arith.AndIOp(a, self.integer_constant(mask)))

    def bitwise_or(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(arith.OrIOp(a, b))

    def less_int(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._insert(with_i1_result(CmpiOp(a, b, "slt")))

    def extend_int(self, x: SSAValue) -> SSAValue:
        """Extend an integer with its sign."""
        return self._insert(conversion("arith.extsi", x, self._integer_type))

    def shift_left(self, x: SSAValue, by: int) -> SSAValue:
        return self._insert(arith.ShLIOp(x, self.integer_constant(by)))

    def shift_right(self, x: SSAValue, by: int) -> SSAValue:
        return self._insert(arith.ShRSIOp(x, self.integer_constant(by)))
