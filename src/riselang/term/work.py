"""The work of programs: the scalar operations and memory accesses that they perform.

The work of a term is that of a program that computes what is written, as often as it is written,
and that stores each array that it computes. The compiler may compute an element several times, but
only if the work does not increase, since the element would be stored and loaded otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.pattern_registry import GENERATE, MAP, SORT, TO_MEM, WHILE
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    contains_array,
    i1,
    index,
    leaves,
    uncurry,
)
from riselang.nat import Nat
from riselang.term.counting import Count, Counter, Data, Value, as_count
from riselang.term.deep_recursion import recursive
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import Pattern, Scalar, Term

REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reducePar")
ITERATIONS = ("iterate", "iterateSeq", "while")
CALL_WORK = 16
"""The work of a call to the math library, in scalar operations."""
NOMINAL_ITERATIONS = 16
"""The assumed number of iterations of a while loop."""
UNCOUNTED_OPS = frozenset((
    "arith.constant", "arith.select", "arith.cmpi", "arith.cmpf", "arith.bitcast",
    "arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
    "arith.index_cast", "arith.index_castui", "rise.return",
))  # fmt: skip
"""Conversions, comparisons and selections, which the definitions of other ops add."""


UNCOUNTED_TYPES = (i1, index)
"""Conditions and indices: whether they are computed depends on how arrays are accessed."""


@dataclass(frozen=True)
class Work:
    """Numbers of scalar operations and memory accesses; an operation on vectors is many."""

    operations: Count
    """Arithmetic on numbers; a fused multiply-add counts as two, a library call as 16."""
    accesses: Count
    """Scalars that are loaded or stored."""
    is_exact: bool = True
    """Whether no count depends on data or on sizes that are known only at run time."""

    def __str__(self) -> str:
        return f"{self.operations} operations, {self.accesses} accesses"

    @property
    def total(self) -> Count:
        return self.operations + self.accesses

    def __add__(self, other: Work) -> Work:
        operations = self.operations + other.operations
        is_exact = self.is_exact and other.is_exact
        return Work(operations, self.accesses + other.accesses, is_exact)

    def repeat(self, times: int, *, is_exact: bool) -> Work:
        """Return the work of performing this work several times."""
        return Work(self.operations * times, self.accesses * times, self.is_exact and is_exact)


NO_WORK = Work(0, 0)


def operation_work(op: str) -> int:
    """The work of an op of the arith or math dialect on scalars."""
    if op in LIBRARY_FUNCTIONS:
        return CALL_WORK
    return 0 if op in UNCOUNTED_OPS else 2 if op == "math.fma" else 1


@recursive
def source_work(program: Term) -> Work:
    """Return the work of a program as written."""
    counter = _WorkCounter()
    result = counter.count(program)
    counter.add_copies(uncurry(program.type)[1], result)
    return Work(as_count(counter.operations), as_count(counter.accesses), counter.is_exact)


class _WorkCounter(Counter):
    """Counts the operations of a term, and the accesses to the arrays that it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = Nat.const(0)
        self.accesses = Nat.const(0)

    def add_accesses(self, count: Nat) -> None:
        self.accesses += self.times * count

    def add_copies(self, type: RiseType, value: Value) -> None:
        """Count the accesses that store a value, which is somewhere else."""
        if value is not Data.COMPUTED:
            self.add_accesses(scalar_count(type) * (1 if value is Data.REGISTER else 2))

    def applications(self, pattern: Pattern) -> Nat:
        times = super().applications(pattern)
        if pattern.spec is WHILE:
            return times * NOMINAL_ITERATIONS
        is_known = pattern.spec is SORT and pattern.sizes["n"].is_constant
        return times * pattern.sizes["n"].constant.bit_length() if is_known else times

    def count_operation(self, term: Scalar, operands: Sequence[Value]) -> None:
        lanes, type = _lanes(term.type), _scalar_type(term.type)
        if type not in UNCOUNTED_TYPES:
            self.operations += self.times * lanes * operation_work(term.op)
        loaded = {
            operand
            for operand, value in zip(term.operands, operands, strict=True)
            if value is not Data.REGISTER
        }
        self.add_accesses(lanes * len(loaded))

    def count_pattern(self, pattern: Pattern, arguments: Sequence[Value]) -> None:
        """Count the copies that a pattern makes of its arguments."""
        result = uncurry(pattern.type)[1]
        copies_start = pattern.spec.name in (*REDUCTIONS, *ITERATIONS)
        is_copy = pattern.spec.role is Role.VALUE or copies_start
        if not is_copy or not contains_array(result):
            return
        if pattern.spec is not TO_MEM or arguments[0] is not Data.COMPUTED:
            self.add_accesses(2 * scalar_count(result))

    def count_application(self, pattern: Pattern, type: RiseType, result: Value) -> None:
        """Count the stores of an element, or those of the accumulator if it contains arrays."""
        is_element = contains_array(uncurry(pattern.type)[1])
        # The elements of a high-level map or generate that are views are not stored.
        is_view = pattern.spec in (MAP, GENERATE) and contains_array(type)
        if pattern.spec.role is Role.VIEW or is_view:
            return
        if is_element:
            self.add_copies(type, result)
        elif result is Data.MEMORY:
            self.add_accesses(scalar_count(type))


def scalar_count(type: RiseType) -> Nat:
    """The number of scalars in a value."""
    return sum((prod(lengths, start=Nat.const(1)) for lengths, _ in leaves(type)), Nat.const(0))


def _scalar_type(type: RiseType) -> RiseType:
    return type.element if isinstance(type, VectorType) else type


def _lanes(type: RiseType) -> Nat:
    return type.length if isinstance(type, VectorType) else Nat.const(1)
