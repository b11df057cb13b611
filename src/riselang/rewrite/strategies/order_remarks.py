"""Remarks on reductions that would be faster in an order that the program does not permit.

The estimate compares two bounds on the cycles per element. In order, each addition waits for the
previous one. In any order, vectors of elements are added to several accumulators, limited by the
arithmetic units, by the loads, and by the cache or memory that contains the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, is_float, leaves
from riselang.rewrite.core import Setting
from riselang.rewrite.default import is_large
from riselang.rewrite.paths import subterms_outside_in
from riselang.rewrite.side_conditions import RELAXED, may_reorder, neutral_element
from riselang.rewrite.strategies.default_schedule import GATHERS, MIN_ACCUMULATED
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of
from riselang.rewrite.term_parts import pattern_arguments, split_lambdas
from riselang.support.errors import SourceLocation
from riselang.support.machine import Machine, this_machine
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import Bound, Lambda, Literal, Scalar, Term, has_pattern, spine, subterms
from riselang.term.substitution import mentions

LATENCY = 4
"""The cycles after which the result of an addition or an fma is available."""
OPERATIONS, LOADS = 2, 2
"""The vector operations and loads that a core executes per cycle."""
SLOW_OPERATIONS = {"arith.divf": 8, "math.sqrt": 8}
"""The cycles of operations that are slower than an addition."""
CALL = 40
"""The cycles of a call to a math function."""
LAST_STEPS = 32
"""The cycles in which the accumulators are combined at the end."""
BYTES_PER_CYCLE = {1: 64, 2: 20, 3: 10}
"""The bytes that a core reads per cycle from each level of cache."""
MEMORY_BYTES_PER_CYCLE = 6
MIN_FACTOR = 1.5
"""The smallest factor worth a remark."""


@dataclass(frozen=True)
class OrderRemark:
    """A reduction whose order limits its speed."""

    location: SourceLocation | None
    length: int
    factor: float
    """The estimated factor between the times in order and in any order."""

    def __str__(self) -> str:
        place = "" if self.location is None else f"{self.location}: "
        return (
            f"{place}a reduction of {self.length} elements from left to right: about "
            f'{self.factor:.1f} times as fast with order="any" or float="relaxed"'
        )


def order_remarks(term: Term, setting: Setting) -> list[OrderRemark]:
    """Return remarks on the reductions of a rewritten program that are slow because of their
    order; each source location has one. Small programs have none, since they are not scheduled."""
    if not is_large(term):
        return []
    remarks = {
        remark.location or position: remark
        for position, remark in enumerate(_find_remarks(term, setting))
    }
    return list(remarks.values())


def _find_remarks(term: Term, setting: Setting) -> Iterator[OrderRemark]:
    for _, part in subterms_outside_in(term):
        arguments = pattern_arguments(part, "reduce", "reduceSeq")
        if arguments is None or not _is_bound_to_order(arguments, setting):
            continue
        length = length_of(arguments[2].type).constant
        factor = _estimated_factor(arguments, length, this_machine())
        if factor >= MIN_FACTOR:
            yield OrderRemark(part.location or spine(part)[0].location, length, factor)


def _is_bound_to_order(arguments: list[Term], setting: Setting) -> bool:
    """Whether a reduction adds or multiplies enough floats, only in the order of the program."""
    function, initial_value, xs = arguments
    type, length = initial_value.type, length_of(xs.type)
    if not isinstance(type, ScalarType) or not is_float(type) or _has_arrays(xs.type):
        return False
    if not length.is_constant or length.constant < MIN_ACCUMULATED:
        return False
    if may_reorder(function, setting) or has_pattern(function, *GATHERS):
        return False
    op = _accumulating_op(function)
    neutral = None if op is None else neutral_element(op, type)
    return isinstance(initial_value, Literal) and initial_value.number == neutral


def _has_arrays(type: RiseType) -> bool:
    """Whether the elements of an array contain arrays."""
    return any(len(lengths) > 1 for lengths, _ in leaves(type))


def _accumulating_op(function: Term) -> str | None:
    """Return the op by which a function combines the accumulator with a value of the element."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    _, body = split_lambdas(function, 2)
    if not isinstance(body, Scalar):
        return None
    op = "arith.addf" if body.op == "math.fma" else body.op
    operands = body.operands[2:] if body.op == "math.fma" else body.operands
    accumulators = [each for each in operands if isinstance(each, Bound) and each.index == 1]
    uses = sum(mentions(each, 1) for each in body.operands)
    return op if op in RELAXED and len(accumulators) == uses == 1 else None


def _estimated_factor(arguments: list[Term], length: int, machine: Machine) -> float:
    function, initial_value, xs = arguments
    assert isinstance(initial_value.type, ScalarType)
    assert isinstance(xs.type, ArrayType)
    lanes = machine.lanes(bytes_of(initial_value.type))
    cycles, calls = _cycles(function)
    bytes = _bytes(xs.type.element)
    loads = len(list(leaves(xs.type.element))) / LOADS
    in_order = max(LATENCY, cycles, loads) + calls
    bound = bytes / _bytes_per_cycle(bytes * length, machine)
    in_any_order = max(cycles / lanes, loads / lanes, bound) + calls
    return length * in_order / (length * in_any_order + LAST_STEPS)


def _cycles(function: Term) -> tuple[float, float]:
    """Return the cycles of the arithmetic of a function, and those of its calls."""
    ops = [each.op for each in subterms(function) if isinstance(each, Scalar)]
    calls = sum(op in LIBRARY_FUNCTIONS for op in ops)
    cycles = sum(SLOW_OPERATIONS.get(op, 1) for op in ops if op not in LIBRARY_FUNCTIONS)
    return cycles / OPERATIONS, calls * CALL


def _bytes(type: RiseType) -> int:
    return sum(bytes_of(scalar) for _, scalar in leaves(type))


def _bytes_per_cycle(bytes: int, machine: Machine) -> float:
    """Return the bandwidth of the smallest cache of which an array of so many bytes takes at most
    half, or of memory."""
    sizes = {level: machine.cache_bytes(level) for level in BYTES_PER_CYCLE}
    levels = [level for level, size in sizes.items() if 2 * bytes <= size]
    return BYTES_PER_CYCLE[levels[0]] if levels else MEMORY_BYTES_PER_CYCLE
