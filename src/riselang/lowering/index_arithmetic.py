"""Simplifies the arithmetic on counters of loops that computes indices of gathers and scatters.

`clampIdx` becomes `min(max(x, 0), n - 1)`. If `x` is computed from the counters of loops with
constant bounds, such as `3 * i + 2`, its interval often shows that it is in bounds, and what
comparisons with it result in. A loop whose counter is only multiplied by 3 then counts in steps of
3. Otherwise LLVM computes such indices in vectors, and extracts each of them for its access.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from riselang.dialects.module import walk
from riselang.lowering.constant_buffers import interval_of_load
from riselang.lowering.loop_counts import Range, constant_value, loop_ranges
from riselang.nat.intervals import (
    UNBOUNDED,
    Interval,
    largest,
    largest_if_all,
    smallest,
    smallest_if_all,
)

ARITHMETIC: dict[type[Operation], Callable[[Interval, Interval], Interval]] = {
    arith.AddiOp: lambda left, right: left + right,
    arith.SubiOp: lambda left, right: left + right.scale(-1),
    arith.MuliOp: lambda left, right: left * right,
}
LOOPS = affine.ForOp | affine.ParallelOp
CONVERSIONS = arith.IndexCastOp | arith.ExtSIOp | arith.TruncIOp
_HAVE_INTERVALS = (
    arith.ConstantOp, arith.ExtUIOp, arith.IndexCastOp, arith.ExtSIOp, arith.TruncIOp,
    arith.AndIOp, arith.SelectOp, affine.LoadOp, memref.LoadOp, *ARITHMETIC,
)  # fmt: skip
_ARE_SIMPLIFIED = (
    affine.ForOp, affine.ParallelOp, arith.MinSIOp, arith.MaxSIOp, arith.CmpiOp, scf.IfOp,
)  # fmt: skip
WITH_INTERVALS = frozenset(op.name for op in _HAVE_INTERVALS)
"""The names of the ops whose result may have a known interval, besides minima and maxima."""
INTERPRETED = frozenset(op.name for op in _ARE_SIMPLIFIED)
"""The names of the other ops that have intervals, or that known intervals simplify."""
INDEX_BITS = 64
COMPARISONS = {2: "lt", 3: "le", 4: "gt", 5: "ge", 6: "lt", 7: "le", 8: "gt", 9: "ge"}
"""The names of the predicates of signed comparisons, and of unsigned ones."""
FIRST_UNSIGNED = 6
ZERO = Interval(0, 0)
MIN_FACTOR, MAX_COUNTER = 2, 1 << 62


def count_in_multiples(function: Operation) -> None:
    """Count in multiples in loops that only multiply their counter by one constant."""
    for op in walk(function):
        if isinstance(op, affine.ForOp):
            _count_in_steps(op)


def remove_known_results(function: Operation) -> None:
    """Replace minima and maxima that are always one operand, and comparisons that are known."""
    intervals: dict[SSAValue, Interval] = {}
    conditionals: list[scf.IfOp] = []
    for op in list(walk(function)):
        if op.name in WITH_INTERVALS:
            interval = _interval(op, intervals)
            if interval is not UNBOUNDED:
                intervals[op.results[0]] = interval
        elif op.name not in INTERPRETED:
            continue
        elif isinstance(op, LOOPS):
            for counter, bounds in zip(op.body.block.args, loop_ranges(op), strict=False):
                intervals[counter] = _counter_interval(bounds)
        elif isinstance(op, arith.MinSIOp | arith.MaxSIOp):
            _simplify_choice(op, intervals)
        elif isinstance(op, arith.CmpiOp):
            _simplify_comparison(op, intervals)
        elif isinstance(op, scf.IfOp):
            conditionals.append(op)
    for op in conditionals:
        _remove_known_branch(op)


def _counter_interval(bounds: Range) -> Interval:
    lower, upper, _ = bounds
    return Interval(lower, None if upper is None else upper - 1)


def _interval(op: Operation, intervals: dict[SSAValue, Interval]) -> Interval:
    """The interval of the result of an op, unless it may overflow."""
    operands = [intervals.get(operand, UNBOUNDED) for operand in op.operands]
    if isinstance(op, arith.ConstantOp):
        value = constant_value(op.result)
        interval = Interval(value, value)
    elif isinstance(op, affine.LoadOp | memref.LoadOp):
        interval = interval_of_load(op)
    elif isinstance(op, arith.ExtUIOp):
        interval = _unsigned_interval(op.input.type, operands[0])
    elif isinstance(op, CONVERSIONS):
        interval = operands[0]
        if interval is UNBOUNDED and isinstance(op, arith.ExtSIOp):
            interval = _signed_interval(op.input.type)
    elif isinstance(op, arith.AndIOp):
        # A bitwise and is not greater than an operand that is not negative.
        known = [each for each in operands if _is_at_most(ZERO, each)]
        interval = Interval(0, smallest([each.upper for each in known])) if known else UNBOUNDED
    elif isinstance(op, arith.SelectOp):
        _, first, second = operands
        lower = smallest_if_all((first.lower, second.lower))
        interval = Interval(lower, largest_if_all((first.upper, second.upper)))
    elif type(op) in ARITHMETIC:
        interval = ARITHMETIC[type(op)](*operands)
    else:
        return UNBOUNDED
    return interval if _fits(interval, op.results[0].type) else UNBOUNDED


def _unsigned_interval(type: Attribute, known: Interval) -> Interval:
    """The interval of an integer whose bits are read without a sign."""
    if _is_at_most(ZERO, known):
        return known
    return Interval(0, (1 << type.width.data) - 1) if isinstance(type, IntegerType) else UNBOUNDED


def _signed_interval(type: Attribute) -> Interval:
    if not isinstance(type, IntegerType):
        return UNBOUNDED
    half = 1 << type.width.data - 1
    return Interval(-half, half - 1)


def _fits(interval: Interval, type: Attribute) -> bool:
    if not isinstance(type, IndexType | IntegerType):
        return False
    half = 1 << (INDEX_BITS if isinstance(type, IndexType) else type.width.data) - 1
    lower, upper = interval.lower, interval.upper
    return lower is not None and upper is not None and -half <= lower and upper < half


def _simplify_choice(
    op: arith.MinSIOp | arith.MaxSIOp, intervals: dict[SSAValue, Interval]
) -> None:
    """Replace the op with the operand that its result always equals, if there is one."""
    left, right = (intervals.get(operand, UNBOUNDED) for operand in op.operands)
    if isinstance(op, arith.MinSIOp):
        smaller, larger = (op.lhs, left), (op.rhs, right)
        lower = smallest_if_all((left.lower, right.lower))
        upper = smallest((left.upper, right.upper))
    else:
        smaller, larger = (op.rhs, right), (op.lhs, left)
        lower = largest((left.lower, right.lower))
        upper = largest_if_all((left.upper, right.upper))
    if _is_at_most(smaller[1], larger[1]):
        op.result.replace_all_uses_with(op.lhs)
    elif _is_at_most(larger[1], smaller[1]):
        op.result.replace_all_uses_with(op.rhs)
    else:
        intervals[op.result] = Interval(lower, upper)
        return
    op.detach()
    op.erase()


def _is_at_most(left: Interval, right: Interval) -> bool:
    """Whether every integer of one interval is at most every integer of another."""
    return left.upper is not None and right.lower is not None and left.upper <= right.lower


def _simplify_comparison(op: arith.CmpiOp, intervals: dict[SSAValue, Interval]) -> None:
    """Replace a comparison whose result is the same for all values with a constant."""
    left, right = (intervals.get(operand, UNBOUNDED) for operand in op.operands)
    predicate = op.predicate.value.data
    name = COMPARISONS.get(predicate)
    if name is None:
        return
    if predicate >= FIRST_UNSIGNED and not (_is_at_most(ZERO, left) and _is_at_most(ZERO, right)):
        return
    if name in ("gt", "ge"):
        left, right, name = right, left, {"gt": "lt", "ge": "le"}[name]
    is_strict = name == "lt"
    is_true = _is_at_most(_shift(left, is_strict), right)
    is_false = _is_at_most(_shift(right, not is_strict), left)
    if is_true or is_false:
        constant = arith.ConstantOp(IntegerAttr(int(is_true), i1))
        block = op.parent
        assert block is not None
        block.insert_op_before(constant, op)
        op.result.replace_all_uses_with(constant.result)
        op.detach()
        op.erase()


def _remove_known_branch(op: scf.IfOp) -> None:
    """Replace a conditional whose condition is a constant with the branch that is taken."""
    known = constant_value(op.cond)
    block = op.parent
    if known is None or block is None:
        return
    region = op.true_region if known else op.false_region
    if region.blocks:
        taken = list(region.block.ops)
        for inner in taken:
            inner.detach()
        *inner_ops, end = taken
        block.insert_ops_before(inner_ops, op)
        for result, value in zip(op.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
        end.erase()
    op.detach()
    op.erase()


def _shift(interval: Interval, is_shifted: bool) -> Interval:
    return interval + Interval(1, 1) if is_shifted else interval


def _count_in_steps(loop: affine.ForOp) -> None:
    """Count in multiples if the counter is used only in multiplications by one constant."""
    counter = loop.body.block.args[0]
    (bounds,) = loop_ranges(loop)
    products = [use.operation for use in counter.uses]
    factors = {_factor(op, counter) for op in products}
    lower, upper, step = bounds
    if len(factors) != 1 or lower is None or upper is None or step is None:
        return
    (factor,) = factors
    if factor is None or factor < MIN_FACTOR or max(abs(lower), abs(upper)) * factor > MAX_COUNTER:
        return
    last = lower + max(0, -(-(upper - lower) // step)) * step
    loop.lowerBoundMap = AffineMapAttr(AffineMap.constant_map(lower * factor))
    loop.upperBoundMap = AffineMapAttr(AffineMap.constant_map(last * factor))
    loop.step = IntegerAttr(step * factor, loop.step.type)
    for op in products:
        op.results[0].replace_all_uses_with(counter)
        constants = [operand.owner for operand in op.operands if operand is not counter]
        op.detach()
        op.erase()
        for constant in constants:
            if isinstance(constant, arith.ConstantOp) and not constant.result.uses:
                constant.detach()
                constant.erase()


def _factor(op: Operation, counter: SSAValue) -> int | None:
    """The constant that a counter is multiplied by; None if it is used in another way."""
    if not isinstance(op, arith.MuliOp) or not isinstance(counter.type, IndexType):
        return None
    others = [operand for operand in op.operands if operand is not counter]
    return constant_value(others[0]) if others else None
