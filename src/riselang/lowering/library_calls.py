"""Matches assignments with BLAS routines and their arguments.

Routine names are those of the CBLAS interface without the letter of the type. Matrices are
row-major; a matrix whose columns are contiguous is passed as its transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, Float64Type, MemRefType
from xdsl.ir import Attribute, SSAValue

from riselang.lowering.affine_nests import Nest
from riselang.lowering.assignments import Assignment, Factor, LinearAccess, Product, Sum
from riselang.lowering.noalias import is_noalias

MAX_BLAS_INT = 2**31 - 1
"""Lengths and strides are 32-bit integers."""


class NotALibraryCall(Exception):
    """The reason why an assignment is not a library call."""


@dataclass(frozen=True)
class Axis:
    """One loop, or several loops that access memory like one loop."""

    length: int
    indices: tuple[SSAValue, ...]
    """The indices of those loops, the innermost last."""

    def stride(self, access: LinearAccess) -> int:
        return access.stride(self.indices[-1])


@dataclass(frozen=True)
class Scale:
    """A constant times scalars."""

    coefficient: float
    scalars: tuple[SSAValue, ...] = ()
    factors: tuple[Factor, ...] = ()
    """Loop-invariant elements."""

    @property
    def is_one(self) -> bool:
        return self == Scale(1.0)


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory, and whether it is passed as its transpose."""

    access: LinearAccess
    stride: int
    is_transposed: bool


@dataclass(frozen=True)
class Vector:
    access: LinearAccess
    stride: int


@dataclass(frozen=True)
class Call:
    """A routine with its arguments, run for every index of `batch`."""

    routine: str
    lengths: tuple[int, ...]
    operands: tuple[Matrix | Vector, ...]
    result: Matrix | Vector
    alpha: Scale
    beta: Scale
    addend: Factor | None
    """The element that the result is added to, if it is not the target itself."""
    loop_indices: frozenset[SSAValue]
    """The indices of the loops that the routine replaces."""
    batch: tuple[Axis, ...] = ()

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.lengths))
        times = "".join(f", {axis.length} times" for axis in self.batch)
        return f"{self.routine} {sizes}{times}"


def element_type(access: LinearAccess) -> Attribute:
    assert isinstance(access.buffer.type, MemRefType)
    return access.buffer.type.element_type


def match_call(assignment: Assignment, value: Sum) -> Call:
    """Return the call that stores `value`; raise `NoCall` with the reason if there is none."""
    target = assignment.target
    if not isinstance(element_type(target), Float32Type | Float64Type):
        raise NotALibraryCall(f"there are no routines for {element_type(target)}")
    if not is_noalias(target.buffer):
        raise NotALibraryCall("the result may share memory with an operand")
    main, added = _split_terms(value)
    return _Matcher(assignment, main, added).find_call()


def _split_terms(value: Sum) -> tuple[Product, Product | None]:
    """Return the product that a routine computes, and the one that it is added to."""
    terms = [product for product in value if not product.is_zero]
    other_terms = [product for product in terms if not product.reduction_loops]
    main = [product for product in terms if product.reduction_loops]
    if not main:
        # Of two terms without a reduction, choose the one with more factors: x*y + C, 2*x + y.
        other_terms.sort(
            key=lambda product: (len(product.factors), not _has_unit_coefficient(product)),
            reverse=True,
        )
        main, other_terms = other_terms[:1], other_terms[1:]
    if len(main) != 1:
        raise NotALibraryCall(f"it adds {len(main)} contractions" if main else "it is a constant")
    if len(other_terms) > 1:
        raise NotALibraryCall("it adds several terms to a contraction")
    return main[0], other_terms[0] if other_terms else None


def _has_unit_coefficient(product: Product) -> bool:
    return product.coefficient == 1.0 and not product.scalars


class _Matcher:
    """Finds the routine for a product that may be added to an element."""

    def __init__(self, assignment: Assignment, main: Product, added: Product | None):
        indices = frozenset(nest.index for nest in (*assignment.loops, *main.reduction_loops))
        self.loop_indices = indices
        self.target = assignment.target
        self.factors, self.alpha = _split_invariant(main, indices)
        self.beta = Scale(0.0)
        self.addend: Factor | None = None
        if added is not None:
            factors, self.beta = _split_invariant(added, indices)
            if len(factors) != 1:
                raise NotALibraryCall("it is added to a value that is not an element")
            self.addend = factors[0]
        accesses = [self.target, *(factor.access for factor in self.factors)]
        if self.addend is not None:
            accesses.append(self.addend.access)
        read = (*self.factors, *self.alpha.factors, *self.beta.factors)
        if any(factor.access.buffer is self.target.buffer for factor in read):
            raise NotALibraryCall("it reads the buffer that it writes")
        self.result_axes = _merge_axes(assignment.loops, accesses)
        self.sum_axes = _merge_axes(main.reduction_loops, accesses)

    def find_call(self) -> Call:
        self._check_result()
        match len(self.factors), len(self.sum_axes):
            case 2, 1:
                return self._match_contraction(self.sum_axes[0])
            case 2, 0:
                return self._match_ger()
            case 1, 0:
                return self._match_axpy()
            case _:
                raise NotALibraryCall(
                    f"it multiplies {len(self.factors)} elements and sums over "
                    f"{len(self.sum_axes)} indices"
                )

    def _check_result(self) -> None:
        if self.addend is not None:
            access = self.addend.access
            is_same = access == self.target
            if access.buffer is self.target.buffer and not is_same:
                raise NotALibraryCall("it reads the buffer that it writes")
            if is_same:
                self.addend = None
        steps = sorted((abs(axis.stride(self.target)), axis.length) for axis in self.result_axes)
        reached = 1
        for step, length in steps:
            if step < reached:
                raise NotALibraryCall("iterations may write the same element")
            reached = step * length

    def _dependent_factors(self, axis: Axis) -> tuple[bool, bool]:
        """Return which of the two factors depend on the index."""
        first, second = (axis.stride(factor.access) != 0 for factor in self.factors)
        return first, second

    def _match_contraction(self, inner: Axis) -> Call:
        if self._dependent_factors(inner) != (True, True):
            raise NotALibraryCall("a factor does not depend on the index of the sum")
        kinds: dict[tuple[bool, bool], list[Axis]] = {}
        for axis in self.result_axes:
            kinds.setdefault(self._dependent_factors(axis), []).append(axis)
        if (False, False) in kinds:
            raise NotALibraryCall("an index of the result is in no factor")
        left, right = kinds.get((True, False), []), kinds.get((False, True), [])
        if left and right:
            return self._match_gemm(inner, left, right)
        if left or right:
            return self._match_gemv(inner, left or right, 0 if left else 1)
        raise NotALibraryCall("it is a dot product for every index of the result")

    def _match_gemm(self, inner: Axis, left: Sequence[Axis], right: Sequence[Axis]) -> Call:
        row, column = _longest(left), _longest(right)
        first, second = (factor.access for factor in self.factors)
        if column.stride(self.target) != 1:
            row, column, first, second = column, row, second, first
        result = _matrix_operand(self.target, row, column, "the result", transposable=False)
        batch_axes = [axis for axis in self.result_axes if axis not in (row, column)]
        return Call(
            "gemm",
            (row.length, column.length, inner.length),
            (_matrix_operand(first, row, inner, "the left factor"),
             _matrix_operand(second, inner, column, "the right factor")),
            result, self.alpha, self.beta, self.addend, self.loop_indices, tuple(batch_axes),
        )  # fmt: skip

    def _match_gemv(self, inner: Axis, rows: Sequence[Axis], matrix_position: int) -> Call:
        row = _longest(rows)
        matrix, vector = (
            self.factors[each].access for each in (matrix_position, 1 - matrix_position)
        )
        batch_axes = [axis for axis in self.result_axes if axis is not row]
        return Call(
            "gemv",
            (row.length, inner.length),
            (_matrix_operand(matrix, row, inner, "the matrix"), _vector_operand(vector, inner)),
            _vector_operand(self.target, row),
            self.alpha, self.beta, self.addend, self.loop_indices, tuple(batch_axes),
        )  # fmt: skip

    def _match_ger(self) -> Call:
        if len(self.result_axes) < 2:
            raise NotALibraryCall("it multiplies elements one by one")
        holders = {self._dependent_factors(axis): axis for axis in self.result_axes}
        if len(self.result_axes) != 2 or holders.keys() != {(True, False), (False, True)}:
            raise NotALibraryCall("it multiplies elements one by one")
        row, column = holders[True, False], holders[False, True]
        first, second = (factor.access for factor in self.factors)
        if column.stride(self.target) != 1:
            row, column, first, second = column, row, second, first
        if not self.beta.is_one and self.beta != Scale(0.0):
            raise NotALibraryCall("it scales the matrix to which an outer product is added")
        return Call(
            "ger",
            (row.length, column.length),
            (_vector_operand(first, row), _vector_operand(second, column)),
            _matrix_operand(self.target, row, column, "the result", transposable=False),
            self.alpha, self.beta, self.addend, self.loop_indices,
        )  # fmt: skip

    def _match_axpy(self) -> Call:
        if self.beta == Scale(0.0):
            raise NotALibraryCall("it only scales a vector")
        if not self.beta.is_one:
            raise NotALibraryCall("it scales both vectors")
        if len(self.result_axes) != 1:
            raise NotALibraryCall("its vectors do not have a constant stride")
        (axis,) = self.result_axes
        return Call(
            "axpy", (axis.length,), (_vector_operand(self.factors[0].access, axis),),
            _vector_operand(self.target, axis), self.alpha, self.beta, self.addend,
            self.loop_indices,
        )  # fmt: skip


def match_dot(value: Sum) -> tuple[Call, Sum]:
    """Return a tensor contraction over one index as a dot call, and the terms added to it."""
    main = [product for product in value if product.reduction_loops]
    if len(main) != 1:
        raise NotALibraryCall("it adds several contractions")
    indices = frozenset(nest.index for nest in main[0].reduction_loops)
    factors, alpha = _split_invariant(main[0], indices)
    if len(factors) != 2:
        raise NotALibraryCall(f"it sums products of {len(factors)} elements")
    if not isinstance(element_type(factors[0].access), Float32Type | Float64Type):
        raise NotALibraryCall(f"there are no routines for {element_type(factors[0].access)}")
    sums = _merge_axes(main[0].reduction_loops, [factor.access for factor in factors])
    if len(sums) != 1:
        raise NotALibraryCall("its vectors do not have a constant stride")
    first, second = (_vector_operand(factor.access, sums[0]) for factor in factors)
    addend = tuple(product for product in value if not product.reduction_loops)
    none = Scale(0.0)
    call = Call("dot", (sums[0].length,), (first, second), first, alpha, none, None, indices)
    return call, addend


def _split_invariant(product: Product, indices: frozenset[SSAValue]) -> tuple[list[Factor], Scale]:
    """Split a product into the factors that depend on the loops and the invariant scale."""
    changing = [f for f in product.factors if indices & f.access.strides.keys()]
    fixed = tuple(f for f in product.factors if not indices & f.access.strides.keys())
    return changing, Scale(product.coefficient, product.scalars, fixed)


def _merge_axes(loops: Sequence[Nest], accesses: Sequence[LinearAccess]) -> list[Axis]:
    """Return the loops, merging those that access all elements like one loop."""
    axes: list[Axis] = []
    for nest in loops:
        if nest.trip_count is None or not nest.starts_at_zero or nest.trip_count == 0:
            raise NotALibraryCall("the trip count of a loop is not known, or 0")
        if nest.trip_count > 1:
            axes.append(Axis(nest.trip_count, (nest.index,)))
    merged = True
    while merged:
        merged = False
        for outer in axes:
            inner = next((axis for axis in axes if _is_continuation(outer, axis, accesses)), None)
            if inner is not None:
                axes[axes.index(outer)] = Axis(
                    outer.length * inner.length, (*outer.indices, *inner.indices)
                )
                axes.remove(inner)
                merged = True
                break
    for axis in axes:
        if axis.length > MAX_BLAS_INT:
            raise NotALibraryCall("a length needs more than 32 bits")
    return axes


def _is_continuation(outer: Axis, inner: Axis, accesses: Sequence[LinearAccess]) -> bool:
    """Whether one iteration of the outer loop advances as far as all of the inner loop."""
    return outer is not inner and all(
        outer.stride(access) == inner.length * inner.stride(access) for access in accesses
    )


def _longest(axes: Sequence[Axis]) -> Axis:
    return max(axes, key=lambda axis: axis.length)


def _matrix_operand(
    access: LinearAccess, row: Axis, column: Axis, name: str, *, transposable: bool = True
) -> Matrix:
    row_stride, column_stride = row.stride(access), column.stride(access)
    if column_stride == 1 and column.length <= row_stride <= MAX_BLAS_INT:
        return Matrix(access, row_stride, False)
    if transposable and row_stride == 1 and row.length <= column_stride <= MAX_BLAS_INT:
        return Matrix(access, column_stride, True)
    raise NotALibraryCall(f"neither the rows nor the columns of {name} are contiguous")


def _vector_operand(access: LinearAccess, axis: Axis) -> Vector:
    step = axis.stride(access)
    if not 0 < step <= MAX_BLAS_INT:
        raise NotALibraryCall("a vector has a negative or zero stride")
    return Vector(access, step)
