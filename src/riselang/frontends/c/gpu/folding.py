"""Emission of index arithmetic that evaluates constants and knows the range of each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

Range = tuple[int, int]
"""The smallest and the largest value."""
_OPS: dict[AffineBinaryOpKind, tuple[type[Operation], Callable[[int, int], int]]] = {
    AffineBinaryOpKind.Add: (arith.AddiOp, int.__add__),
    AffineBinaryOpKind.Mul: (arith.MuliOp, int.__mul__),
    AffineBinaryOpKind.FloorDiv: (arith.FloorDivSIOp, int.__floordiv__),
    AffineBinaryOpKind.CeilDiv: (arith.CeilDivSIOp, lambda a, b: -(-a // b)),
}
_FOLDED: dict[type[Operation], Callable[..., int]] = {
    arith.AddiOp: int.__add__,
    arith.SubiOp: int.__sub__,
    arith.MuliOp: int.__mul__,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    arith.IndexCastOp: int.__pos__,
    arith.ExtSIOp: int.__pos__,
}
"""Ops whose results are computed from constants; C's integers do not overflow here, since an
overflow is undefined behavior."""


@dataclass
class IndexBuilder:
    """Adds ops to a block, at the end of it."""

    builder: Builder
    known: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The values that are constants."""
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    """The ranges of loop variables."""

    def at(self, builder: Builder) -> IndexBuilder:
        """Return a builder at another insertion point that knows the same values."""
        return IndexBuilder(builder, self.known, self.ranges)

    def insert(self, op: Operation) -> Operation:
        return self.builder.insert(op)

    def constant(self, value: int, type: Attribute | None = None) -> SSAValue:
        assert type is None or isinstance(type, IndexType | IntegerType)
        op = arith.ConstantOp(IntegerAttr(value, type or IndexType()))
        result = self.builder.insert(op).result
        self.known[result] = value
        return result

    def binary(self, op: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
        if left in self.known and right in self.known and op in _FOLDED:
            return self.constant(_FOLDED[op](self.known[left], self.known[right]))
        return self.insert(op(left, right)).results[0]  # type: ignore[call-arg]

    def compare(self, left: SSAValue, right: SSAValue, predicate: str) -> SSAValue:
        return self.insert(arith.CmpiOp(left, right, predicate)).results[0]

    def note_result(self, op: Operation) -> None:
        """Compute the result of an op on constants."""
        if len(op.results) != 1:
            return
        result = op.results[0]
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            self.known[result] = op.value.value.data
        fold = _FOLDED.get(type(op))
        if fold is not None and all(each in self.known for each in op.operands):
            self.known[result] = fold(*(self.known[each] for each in op.operands))

    # Affine expressions

    def expression(self, expr: AffineExpr, map: AffineMap, values: Sequence[SSAValue]) -> SSAValue:
        """Emit an expression over the operands of a map."""
        found = self.value_range(expr, map, values)
        if found is not None and found[0] == found[1]:
            return self.constant(found[0])
        match expr:
            case AffineConstantExpr():
                return self.constant(expr.value)
            case AffineDimExpr():
                return values[expr.position]
            case AffineSymExpr():
                return values[map.num_dims + expr.position]
            case AffineBinaryOpExpr():
                left = self.expression(expr.lhs, map, values)
                right = self.expression(expr.rhs, map, values)
                if expr.kind is AffineBinaryOpKind.Mod:
                    quotient = self.binary(arith.FloorDivSIOp, left, right)
                    return self.binary(
                        arith.SubiOp, left, self.binary(arith.MuliOp, quotient, right)
                    )
                return self.binary(_OPS[expr.kind][0], left, right)
            case _:
                raise AssertionError(f"an affine expression {expr}")

    def value_range(
        self, expr: AffineExpr, map: AffineMap, values: Sequence[SSAValue]
    ) -> Range | None:
        """Return the range of an expression; None if it is not known."""
        match expr:
            case AffineConstantExpr():
                return expr.value, expr.value
            case AffineDimExpr():
                return self.range_of(values[expr.position])
            case AffineSymExpr():
                return self.range_of(values[map.num_dims + expr.position])
            case AffineBinaryOpExpr():
                left = self.value_range(expr.lhs, map, values)
                right = self.value_range(expr.rhs, map, values)
                if left is None or right is None:
                    return None
                return _binary_range(expr.kind, left, right)
            case _:
                return None

    def range_of(self, value: SSAValue) -> Range | None:
        if value in self.known:
            return self.known[value], self.known[value]
        return self.ranges.get(value)


def _binary_range(kind: AffineBinaryOpKind, left: Range, right: Range) -> Range | None:
    if kind is AffineBinaryOpKind.Mod:
        if left[0] == left[1] and right[0] == right[1]:
            return left[0] % right[0], left[0] % right[0]
        return 0, right[1] - 1
    if kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv) and right[0] <= 0:
        return None
    compute = _OPS[kind][1]
    corners = [compute(one, other) for one in left for other in right]
    return min(corners), max(corners)
