"""The work of programs: the scalar operations that they perform, and the bytes that they access.

The work of a term is that of a program that computes what is written, as often as it is written,
and that stores each array that it computes. The compiler may compute an element several times, but
only if the work does not increase, since the element would be stored and loaded otherwise: one
operation counts as much as one byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.pattern_registry import (
    CHUNK_LENGTH,
    GENERATE,
    MAP,
    MMA,
    REDUCE_PAR,
    SORT,
    TO_MEM,
    TRANSPOSE,
    WHILE,
)
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    array,
    contains_array,
    element_of,
    f8e4m3fn,
    f8e5m2,
    i1,
    index,
    leaves,
    uncurry,
)
from riselang.nat import Nat
from riselang.term.cost import byte_size
from riselang.term.counting import STORED_WHOLE, Count, Counter, Data, Value, applications, as_count
from riselang.term.deep_recursion import recursive
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import Pattern, Scalar, Term

REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reducePar", "reduceRank")
SCANS = ("scan", "scanSeq")
ITERATIONS = ("iterate", "iterateSeq", "while")
WITH_BUFFERS = frozenset((
    *REDUCTIONS, *ITERATIONS, "toMem", "mma", "tensorMMA", "tensorAttention", "circularBuffer",
    "rotateValues",
))  # fmt: skip
"""The patterns whose arrays are in buffers of their own, from which they are copied."""
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


SMALL_FLOATS = (f8e4m3fn, f8e5m2)
"""The floats that no CPU computes with."""
EXTENSION_WORK, ROUNDING_WORK = 8, 12
"""The operations that convert a small float to f32, and those that round f32 to it."""
MOVING_OPS = frozenset(("arith.select", "arith.bitcast"))
"""The operations that do not look at the value of a float."""


@dataclass(frozen=True)
class Work:
    """Numbers of scalar operations and accessed bytes; an operation on vectors is many."""

    operations: Count
    """Arithmetic on numbers; a fused multiply-add counts as two, a library call as 16."""
    bytes: Count
    """The sizes of the scalars that are loaded or stored."""
    is_exact: bool = True
    """Whether no count depends on data or on sizes that are known only at run time."""

    def __str__(self) -> str:
        return f"{self.operations} operations, {self.bytes} bytes"

    @property
    def total(self) -> Count:
        return self.operations + self.bytes

    def __add__(self, other: Work) -> Work:
        operations = self.operations + other.operations
        is_exact = self.is_exact and other.is_exact
        return Work(operations, self.bytes + other.bytes, is_exact)

    def repeat(self, times: int, *, is_exact: bool) -> Work:
        """Return the work of performing this work several times."""
        return Work(self.operations * times, self.bytes * times, self.is_exact and is_exact)


NO_WORK = Work(0, 0)


def operation_work(op: str) -> int:
    """The work of an op of the arith or math dialect on scalars."""
    if op in LIBRARY_FUNCTIONS or op == "func.call":
        return CALL_WORK
    return 0 if op in UNCOUNTED_OPS else 2 if op == "math.fma" else 1


@recursive
def source_work(program: Term) -> Work:
    """Return the work of a program as written."""
    counter = _WorkCounter()
    result = counter.count(program)
    inputs, output = uncurry(program.type)
    for type in inputs:
        # A scalar parameter is loaded once.
        counter.add_accesses(type, 0 if contains_array(type) else 1)
    counter.add_copies(output, result)
    return Work(counter.operations, counter.bytes, counter.is_exact)


class _WorkCounter(Counter):
    """Counts the operations of a term, and the accesses to the arrays that it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: Count = 0
        self.bytes: Count = 0

    def add_accesses(self, type: RiseType, count: Count = 1) -> None:
        """Count that all scalars of a value are loaded or stored, `count` times."""
        self.bytes += self.times * as_count(byte_size([type])) * count

    def add_copies(self, type: RiseType, value: Value) -> None:
        """Count the accesses that store a value, which is somewhere else."""
        if value is not Data.COMPUTED:
            self.add_accesses(type, 1 if value is Data.REGISTER else 2)

    def applications(self, pattern: Pattern) -> Count:
        return work_applications(pattern)

    def count_operation(self, term: Scalar, operands: Sequence[Value]) -> None:
        self.operations += self.times * scalar_work(term)
        loaded = {
            operand
            for operand, value in zip(term.operands, operands, strict=True)
            if value is not Data.REGISTER
        }
        for operand in loaded:
            self.add_accesses(operand.type)

    def count_load(self, type: RiseType) -> None:
        self.add_accesses(type)

    def count_pattern(self, pattern: Pattern, arguments: Sequence[Value]) -> None:
        """Count the copies that a pattern makes of its arguments, and the indices it loads."""
        inputs, result = uncurry(pattern.type)
        name = pattern.spec.name
        if name in (*REDUCTIONS, *SCANS, *ITERATIONS):
            start = inputs[-1] if name in ITERATIONS else inputs[1]
            self.add_accesses(start, 2 if contains_array(start) else 0)
        if pattern.spec is REDUCE_PAR:
            # Each chunk is reduced from the start, which is stored, and its result is stored.
            has_arrays, chunks = contains_array(result), _chunk_count(pattern)
            self.add_accesses(result, 4 * chunks + 2 if has_arrays else chunks)
        elif pattern.spec is MMA:
            # The start of each sum, and its result.
            self.add_accesses(result, 2)
        elif pattern.spec is TO_MEM:
            is_copied = contains_array(result) and arguments[0] is not Data.COMPUTED
            self.add_accesses(result, 2 if is_copied else 0)
        elif pattern.spec.role is Role.VALUE and contains_array(result):
            self.add_accesses(result, 2)
        elif name in STORED_WHOLE and Data.COMPUTED in arguments:
            for type, argument in zip(inputs, arguments, strict=True):
                self.add_copies(type, argument)
        elif pattern.spec is TRANSPOSE and arguments[0] is Data.GATHERED:
            # The index of a row is loaded for each of its elements.
            for lengths, _ in leaves(result):
                self.add_accesses(array(prod(lengths, start=Nat.const(1)), index))
        for type, count in _indexed_accesses(pattern):
            self.add_accesses(type, count)

    def count_application(self, pattern: Pattern, type: RiseType, result: Value) -> None:
        """Count the stores of an element, or those of the accumulator if it contains arrays."""
        is_element = contains_array(uncurry(pattern.type)[1])
        # The elements of a high-level map or generate that are views are not stored, unless they
        # are views of buffers that the next element overwrites.
        is_view = pattern.spec in (MAP, GENERATE) and contains_array(type)
        if pattern.spec.role is Role.VIEW or (is_view and result is not Data.BUFFER):
            return
        if is_element or contains_array(type):
            self.add_copies(type, result)
        elif isinstance(result, Data) and result.is_loaded:
            self.add_accesses(type)
        if pattern.spec.name in SCANS and contains_array(type):
            # Each accumulator is stored in the result, and carried in a buffer.
            self.add_accesses(type, 2)

    def has_own_buffer(self, pattern: Pattern) -> bool:
        return pattern.spec.name in WITH_BUFFERS


def work_applications(pattern: Pattern) -> Count:
    """How often a pattern applies its functions; a nominal number where only the data decides."""
    times = applications(pattern)
    if pattern.spec is WHILE:
        return times * NOMINAL_ITERATIONS
    if pattern.spec is REDUCE_PAR:
        return times + _chunk_count(pattern)
    return times * times.bit_length() if pattern.spec is SORT and isinstance(times, int) else times


def scalar_work(term: Scalar) -> Count:
    """The work of an operation on scalars or vectors."""
    work = _conversion_work(term)
    if _scalar_type(term.type) not in UNCOUNTED_TYPES:
        work += operation_work(term.op)
    return work * as_count(_lanes(term.type))


def _conversion_work(term: Scalar) -> int:
    """The work of the integer operations that convert floats of 8 bits from and to f32."""
    if term.op in MOVING_OPS:
        return 0
    extended = sum(_scalar_type(each.type) in SMALL_FLOATS for each in set(term.operands))
    is_rounded = _scalar_type(term.type) in SMALL_FLOATS
    return extended * EXTENSION_WORK + is_rounded * ROUNDING_WORK


def _chunk_count(pattern: Pattern) -> Count:
    return as_count((pattern.sizes["n"] + CHUNK_LENGTH - 1) // CHUNK_LENGTH)


def _indexed_accesses(pattern: Pattern) -> Iterator[tuple[RiseType, int]]:
    """Yield the indices and the elements at indices that a pattern accesses, and how often."""
    inputs, result = uncurry(pattern.type)
    match pattern.spec.name:
        case "reorder":
            # The indices are an array, which is stored, and read for each component.
            yield array(pattern.sizes["n"], index), 1 + len(list(leaves(result)))
        case "gather":
            yield inputs[0], len(list(leaves(result)))
        case "updateAt":
            yield inputs[1], 2
        case "scatter":
            yield inputs[0], 1
            yield inputs[2], 2
        case "scatterWith":
            yield inputs[1], 1
            # Combined arrays are stored before they replace the old ones.
            yield inputs[3], 2 if contains_array(element_of(inputs[3])) else 0
        case "rotateValues":
            # A window is stored if its elements are read at indices.
            yield result, 1
        case _:
            return


def _scalar_type(type: RiseType) -> RiseType:
    return type.element if isinstance(type, VectorType) else type


def _lanes(type: RiseType) -> Nat:
    return type.length if isinstance(type, VectorType) else Nat.const(1)
