"""An estimate of the time that the reference interpreter needs for a term.

It counts the visited nodes and the created elements, which take a microsecond or two each.
"""

from __future__ import annotations

from math import prod

from riselang.dialects.rise.pattern_registry import SORT
from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, leaves
from riselang.nat import Nat
from riselang.term.counting import applications
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import Pattern, Scalar, Term, spine

EXACT_COSTS = {"math.fma": 50}
"""Ops that are computed with fractions, and their cost relative to other ops."""


@recursive
def estimate_steps(term: Term) -> int:
    """Estimate the number of steps of one run of a term whose sizes are known."""
    counts: dict[Term, int] = {}

    def count(term: Term) -> int:
        if term not in counts:
            counts[term] = visit(term)
        return counts[term]

    def visit(term: Term) -> int:
        head, arguments = spine(term)
        if not isinstance(head, Pattern):
            op_cost = EXACT_COSTS.get(term.op, 1) if isinstance(term, Scalar) else 1
            return op_cost + sum([count(child) for child in term.children])
        repetitions = _applications(head)
        argument_costs = [
            count(argument) * (repetitions if _is_function(argument) else 1)
            for argument in arguments
        ]
        return 1 + sum(argument_costs) + _elements(term.type)

    return count(term)


def _applications(pattern: Pattern) -> int:
    """How often a pattern applies its functions; a sort compares n log n times."""
    times = applications(pattern)
    count = times if isinstance(times, int) else 1
    return count * count.bit_length() if pattern.spec is SORT else count


def _is_function(term: Term) -> bool:
    return isinstance(term.type, FunType)


def _elements(type: RiseType) -> int:
    """The number of scalars in a value of a type."""
    if isinstance(type, FunType | DepFunType) or any(type_variables(type)):
        return 0
    return sum(prod(_size_value(each) for each in lengths) for lengths, _ in leaves(type))


def _size_value(size: Nat) -> int:
    """The value of a size; a size that is a parameter of an inner function counts as 1."""
    return size.constant if size.is_constant else 1
