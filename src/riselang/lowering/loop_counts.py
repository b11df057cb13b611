"""How often the bodies of loops run: an estimate where only sizes or data at run time decide."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from riselang.term.work import NOMINAL_ITERATIONS

NOMINAL_LENGTH = 64
"""The assumed length of a dimension that is known only at run time."""

Range = tuple[int | None, int | None, int | None]
"""The start, the end and the step of a loop; None for what is known only at run time."""


def trip_count(op: Operation) -> int:
    """Return how often the body of an op runs each time the op runs; 1 if it is not a loop."""
    if isinstance(op, scf.WhileOp):
        return NOMINAL_ITERATIONS
    return prod(map(_count_steps, loop_ranges(op)))


def has_known_trip_count(op: Operation) -> bool:
    """Whether the number of iterations is known when the program is compiled."""
    is_while = isinstance(op, scf.WhileOp)
    return not is_while and all(None not in each for each in loop_ranges(op))


def is_parallel(op: Operation) -> bool:
    return isinstance(op, affine.ParallelOp | scf.ParallelOp)


def loop_ranges(op: Operation) -> Iterator[Range]:
    """Yield the range of each counter of a loop; nothing for other ops."""
    match op:
        case affine.ForOp():
            lower, upper = op.lowerBoundMap.data, op.upperBoundMap.data
            yield _bound(lower, 0), _bound(upper, 0), op.step.value.data
        case affine.ParallelOp():
            lower, upper = op.lowerBoundsMap.data, op.upperBoundsMap.data
            for number, step in enumerate(op.steps):
                yield _bound(lower, number), _bound(upper, number), step.value.data
        case scf.ForOp():
            yield constant_value(op.lb), constant_value(op.ub), constant_value(op.step)
        case scf.ParallelOp():
            for bounds in zip(op.lowerBound, op.upperBound, op.step, strict=True):
                lower, upper, step = map(constant_value, bounds)
                yield lower, upper, step
        case _:
            return


def _count_steps(range: Range) -> int:
    lower, upper, step = range
    if lower is None or upper is None or step is None:
        return NOMINAL_LENGTH
    return max(0, -(-(upper - lower) // step))


def _bound(map: AffineMap, loop: int) -> int | None:
    """Return the bound of one of several loops; None for one with several bounds."""
    results = map.results
    result = results[loop] if loop < len(results) else None
    return result.value if isinstance(result, AffineConstantExpr) else None


def constant_value(value: SSAValue) -> int | None:
    """Return the integer that a constant op defines; None for other values."""
    op = value.owner
    number = op.value if isinstance(op, arith.ConstantOp) else None
    return number.value.data if isinstance(number, IntegerAttr) else None
