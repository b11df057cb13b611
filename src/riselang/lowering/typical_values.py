"""Values of indices if all sizes that are known only at run time have an assumed value.

The bounds of loops over tiles are fractions of sizes. Estimates of work that take each of them for
a complete size would be too large by the product of the tile sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from riselang.dialects.affine import ParallelOp

Range = tuple[int | None, int | None, int | None]
"""The start, the end and the step of a loop; None for what cannot be estimated."""
ARITHMETIC: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: int.__add__,
    arith.SubiOp: int.__sub__,
    arith.MuliOp: int.__mul__,
    arith.MinSIOp: min,
    arith.MinUIOp: min,
    arith.MaxSIOp: max,
    arith.MaxUIOp: max,
}
DIVISIONS: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.DivUIOp: int.__floordiv__,
    arith.DivSIOp: int.__floordiv__,
    arith.FloorDivSIOp: int.__floordiv__,
    arith.CeilDivSIOp: lambda dividend, divisor: -(-dividend // divisor),
    arith.CeilDivUIOp: lambda dividend, divisor: -(-dividend // divisor),
    arith.RemUIOp: int.__mod__,
    arith.RemSIOp: int.__mod__,
}


class TypicalValues:
    """The values of indices for one assumed value of all sizes."""

    def __init__(self, size: int):
        self.size = size
        self._values: dict[SSAValue, int | None] = {}

    def ranges(self, loop: Operation) -> list[Range]:
        """Return the range of each counter of a loop."""
        match loop:
            case affine.ForOp():
                lower = self._results(loop.lowerBoundMap.data, loop.lowerBoundOperands)
                upper = self._results(loop.upperBoundMap.data, loop.upperBoundOperands)
                return [(_most(lower), _least(upper), loop.step.value.data)]
            case ParallelOp():
                lower, upper = (self._results(each.map, each.operands) for each in loop.bounds)
                if max(map(len, (lower, upper))) > len(loop.steps):
                    return [(None, None, None)] * len(loop.steps)
                steps = [each.value.data for each in loop.steps]
                return list(zip(lower, upper, steps, strict=True))
            case scf.ForOp():
                return [(self.value(loop.lb), self.value(loop.ub), self.value(loop.step))]
            case scf.ParallelOp():
                bounds = zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)
                return [(self.value(a), self.value(b), self.value(c)) for a, b, c in bounds]
            case _:
                return []

    def value(self, value: SSAValue) -> int | None:
        """Return the value of an index; None if it depends on more than sizes."""
        if value not in self._values:
            self._values[value] = self._compute(value)
        return self._values[value]

    def _compute(self, value: SSAValue) -> int | None:
        if isinstance(value, BlockArgument):
            is_parameter = isinstance(value.owner.parent_op(), FuncOp)
            is_size = is_parameter and isinstance(value.type, IndexType | IntegerType)
            return self.size if is_size else None
        op = value.owner
        match op:
            case arith.ConstantOp(value=IntegerAttr() as number):
                return number.value.data
            case memref.DimOp():
                return self.size
            case arith.IndexCastOp():
                return self.value(op.input)
            case affine.ApplyOp():
                return self._results(op.map.data, op.mapOperands)[0]
            case Operation():
                return self._combine(op)
            case _:
                return None

    def _combine(self, op: Operation) -> int | None:
        if type(op) not in ARITHMETIC and type(op) not in DIVISIONS:
            return None
        left, right = [self.value(operand) for operand in op.operands]
        if left is None or right is None:
            return None
        if type(op) in ARITHMETIC:
            return ARITHMETIC[type(op)](left, right)
        return DIVISIONS[type(op)](left, right) if right > 0 else None

    def _results(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[int | None]:
        """Return the results of a map; None for all of them if an operand cannot be estimated."""
        values = [self.value(each) for each in operands]
        known = [each for each in values if each is not None]
        if len(known) < len(values):
            return [None] * len(map.results)
        return list(map.eval(known[: map.num_dims], known[map.num_dims :]))


def _most(bounds: Sequence[int | None]) -> int | None:
    known = [each for each in bounds if each is not None]
    return max(known) if len(known) == len(bounds) else None


def _least(bounds: Sequence[int | None]) -> int | None:
    known = [each for each in bounds if each is not None]
    return min(known) if len(known) == len(bounds) else None
