"""Matches assignments with BLAS routines and their arguments.

Routine names are those of the CBLAS interface without the letter of the type. Matrices are
row-major; a matrix whose columns are contiguous is passed as its transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, Float64Type, MemRefType
from xdsl.ir import Attribute, SSAValue

from riselang.lowering.assignments import Assignment, Factor, Place, Product, Sum
from riselang.lowering.nests import Nest
from riselang.lowering.noalias import is_distinct

LARGEST = 2**31 - 1
"""Lengths and strides are 32-bit integers."""


class NoCall(Exception):
    """The reason why an assignment is not a library call."""


@dataclass(frozen=True)
class Axis:
    """One loop, or several loops that access memory like one loop."""

    length: int
    indices: tuple[SSAValue, ...]
    """The indices of those loops, the innermost last."""

    def step(self, place: Place) -> int:
        return place.step(self.indices[-1])


@dataclass(frozen=True)
class Scale:
    """A constant times scalars."""

    number: float
    scalars: tuple[SSAValue, ...] = ()
    factors: tuple[Factor, ...] = ()
    """Loop-invariant elements."""

    @property
    def is_one(self) -> bool:
        return self == Scale(1.0)


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory, and whether it is passed as its transpose."""

    place: Place
    stride: int
    is_transposed: bool


@dataclass(frozen=True)
class Vector:
    place: Place
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
    added: Factor | None
    """The element that the result is added to, if it is not the target itself."""
    inside: frozenset[SSAValue]
    """The indices of the loops that the routine replaces."""
    batch: tuple[Axis, ...] = ()

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.lengths))
        times = "".join(f", {axis.length} times" for axis in self.batch)
        return f"{self.routine} {sizes}{times}"


def element_type(place: Place) -> Attribute:
    assert isinstance(place.buffer.type, MemRefType)
    return place.buffer.type.element_type


def call_of(assignment: Assignment, value: Sum) -> Call:
    """Return the call that stores `value`; raise `NoCall` with the reason if there is none."""
    target = assignment.target
    if not isinstance(element_type(target), Float32Type | Float64Type):
        raise NoCall(f"there are no routines for {element_type(target)}")
    if not is_distinct(target.buffer):
        raise NoCall("the result may share memory with an operand")
    main, added = _parts(value)
    return _Matcher(assignment, main, added).call()


def _parts(value: Sum) -> tuple[Product, Product | None]:
    """Return the product that a routine computes, and the one that it is added to."""
    terms = [product for product in value if not product.is_nothing]
    rest = [product for product in terms if not product.over]
    main = [product for product in terms if product.over]
    if not main:
        # Of two terms without a reduction, choose the one with more factors: x*y + C, 2*x + y.
        rest.sort(key=lambda product: (len(product.factors), not _is_plain(product)), reverse=True)
        main, rest = rest[:1], rest[1:]
    if len(main) != 1:
        raise NoCall(f"it adds {len(main)} contractions" if main else "it is a constant")
    if len(rest) > 1:
        raise NoCall("it adds several terms to a contraction")
    return main[0], rest[0] if rest else None


def _is_plain(product: Product) -> bool:
    return product.number == 1.0 and not product.scalars


class _Matcher:
    """Finds the routine for a product that may be added to an element."""

    def __init__(self, assignment: Assignment, main: Product, added: Product | None):
        indices = frozenset(nest.index for nest in (*assignment.loops, *main.over))
        self.inside = indices
        self.target = assignment.target
        self.factors, self.alpha = _split(main, indices)
        self.beta = Scale(0.0)
        self.added: Factor | None = None
        if added is not None:
            factors, self.beta = _split(added, indices)
            if len(factors) != 1:
                raise NoCall("it is added to a value that is not an element")
            self.added = factors[0]
        places = [self.target, *(factor.place for factor in self.factors)]
        if self.added is not None:
            places.append(self.added.place)
        read = (*self.factors, *self.alpha.factors, *self.beta.factors)
        if any(factor.place.buffer is self.target.buffer for factor in read):
            raise NoCall("it reads the buffer that it writes")
        self.rows = _axes(assignment.loops, places)
        self.sums = _axes(main.over, places)

    def call(self) -> Call:
        self._check_result()
        match len(self.factors), len(self.sums):
            case 2, 1:
                return self._contraction(self.sums[0])
            case 2, 0:
                return self._outer_product()
            case 1, 0:
                return self._scaled_sum()
            case _:
                raise NoCall(
                    f"it multiplies {len(self.factors)} elements and sums over "
                    f"{len(self.sums)} indices"
                )

    def _check_result(self) -> None:
        if self.added is not None:
            place = self.added.place
            is_same = place == self.target
            if place.buffer is self.target.buffer and not is_same:
                raise NoCall("it reads the buffer that it writes")
            if is_same:
                self.added = None
        steps = sorted((abs(axis.step(self.target)), axis.length) for axis in self.rows)
        reached = 1
        for step, length in steps:
            if step < reached:
                raise NoCall("iterations may write the same element")
            reached = step * length

    def _holders(self, axis: Axis) -> tuple[bool, bool]:
        """Return which of the two factors depend on the index."""
        first, second = (axis.step(factor.place) != 0 for factor in self.factors)
        return first, second

    def _contraction(self, inner: Axis) -> Call:
        if self._holders(inner) != (True, True):
            raise NoCall("a factor does not depend on the index of the sum")
        kinds: dict[tuple[bool, bool], list[Axis]] = {}
        for axis in self.rows:
            kinds.setdefault(self._holders(axis), []).append(axis)
        if (False, False) in kinds:
            raise NoCall("an index of the result is in no factor")
        left, right = kinds.get((True, False), []), kinds.get((False, True), [])
        if left and right:
            return self._product(inner, left, right)
        if left or right:
            return self._matrix_vector(inner, left or right, 0 if left else 1)
        raise NoCall("it is a dot product for every index of the result")

    def _product(self, inner: Axis, left: Sequence[Axis], right: Sequence[Axis]) -> Call:
        row, column = _longest(left), _longest(right)
        first, second = (factor.place for factor in self.factors)
        if column.step(self.target) != 1:
            row, column, first, second = column, row, second, first
        result = _matrix(self.target, row, column, "the result", transposable=False)
        others = [axis for axis in self.rows if axis not in (row, column)]
        return Call(
            "gemm",
            (row.length, column.length, inner.length),
            (_matrix(first, row, inner, "the left factor"),
             _matrix(second, inner, column, "the right factor")),
            result, self.alpha, self.beta, self.added, self.inside, tuple(others),
        )  # fmt: skip

    def _matrix_vector(self, inner: Axis, rows: Sequence[Axis], at: int) -> Call:
        row = _longest(rows)
        matrix, vector = self.factors[at].place, self.factors[1 - at].place
        others = [axis for axis in self.rows if axis is not row]
        return Call(
            "gemv",
            (row.length, inner.length),
            (_matrix(matrix, row, inner, "the matrix"), _vector(vector, inner)),
            _vector(self.target, row),
            self.alpha, self.beta, self.added, self.inside, tuple(others),
        )  # fmt: skip

    def _outer_product(self) -> Call:
        if len(self.rows) < 2:
            raise NoCall("it multiplies elements one by one")
        holders = {self._holders(axis): axis for axis in self.rows}
        if len(self.rows) != 2 or holders.keys() != {(True, False), (False, True)}:
            raise NoCall("it multiplies elements one by one")
        row, column = holders[True, False], holders[False, True]
        first, second = (factor.place for factor in self.factors)
        if column.step(self.target) != 1:
            row, column, first, second = column, row, second, first
        if not self.beta.is_one and self.beta != Scale(0.0):
            raise NoCall("it scales the matrix to which an outer product is added")
        return Call(
            "ger",
            (row.length, column.length),
            (_vector(first, row), _vector(second, column)),
            _matrix(self.target, row, column, "the result", transposable=False),
            self.alpha, self.beta, self.added, self.inside,
        )  # fmt: skip

    def _scaled_sum(self) -> Call:
        if self.beta == Scale(0.0):
            raise NoCall("it only scales a vector")
        if not self.beta.is_one:
            raise NoCall("it scales both vectors")
        if len(self.rows) != 1:
            raise NoCall("its vectors do not have a constant stride")
        (axis,) = self.rows
        return Call(
            "axpy", (axis.length,), (_vector(self.factors[0].place, axis),),
            _vector(self.target, axis), self.alpha, self.beta, self.added, self.inside,
        )  # fmt: skip


def dot_of(value: Sum) -> tuple[Call, Sum]:
    """Return a contraction over one index as a dot call, and the terms that it is added to."""
    main = [product for product in value if product.over]
    if len(main) != 1:
        raise NoCall("it adds several contractions")
    indices = frozenset(nest.index for nest in main[0].over)
    factors, alpha = _split(main[0], indices)
    if len(factors) != 2:
        raise NoCall(f"it sums products of {len(factors)} elements")
    if not isinstance(element_type(factors[0].place), Float32Type | Float64Type):
        raise NoCall(f"there are no routines for {element_type(factors[0].place)}")
    sums = _axes(main[0].over, [factor.place for factor in factors])
    if len(sums) != 1:
        raise NoCall("its vectors do not have a constant stride")
    first, second = (_vector(factor.place, sums[0]) for factor in factors)
    rest = tuple(product for product in value if not product.over)
    none = Scale(0.0)
    call = Call("dot", (sums[0].length,), (first, second), first, alpha, none, None, indices)
    return call, rest


def _split(product: Product, indices: frozenset[SSAValue]) -> tuple[list[Factor], Scale]:
    """Split a product into the factors that depend on the loops and the invariant scale."""
    changing = [f for f in product.factors if indices & f.place.steps.keys()]
    fixed = tuple(f for f in product.factors if not indices & f.place.steps.keys())
    return changing, Scale(product.number, product.scalars, fixed)


def _axes(loops: Sequence[Nest], places: Sequence[Place]) -> list[Axis]:
    """Return the loops, merging those that access all elements like one loop."""
    axes: list[Axis] = []
    for nest in loops:
        if nest.trip_count is None or not nest.starts_at_zero or nest.trip_count == 0:
            raise NoCall("the trip count of a loop is not known, or 0")
        if nest.trip_count > 1:
            axes.append(Axis(nest.trip_count, (nest.index,)))
    merged = True
    while merged:
        merged = False
        for outer in axes:
            inner = next((axis for axis in axes if _continues(outer, axis, places)), None)
            if inner is not None:
                whole = Axis(outer.length * inner.length, (*outer.indices, *inner.indices))
                axes[axes.index(outer)] = whole
                axes.remove(inner)
                merged = True
                break
    for axis in axes:
        if axis.length > LARGEST:
            raise NoCall("a length needs more than 32 bits")
    return axes


def _continues(outer: Axis, inner: Axis, places: Sequence[Place]) -> bool:
    """Whether one iteration of the outer loop advances as far as all of the inner loop."""
    return outer is not inner and all(
        outer.step(place) == inner.length * inner.step(place) for place in places
    )


def _longest(axes: Sequence[Axis]) -> Axis:
    return max(axes, key=lambda axis: axis.length)


def _matrix(
    place: Place, row: Axis, column: Axis, name: str, *, transposable: bool = True
) -> Matrix:
    down, along = row.step(place), column.step(place)
    if along == 1 and column.length <= down <= LARGEST:
        return Matrix(place, down, False)
    if transposable and down == 1 and row.length <= along <= LARGEST:
        return Matrix(place, along, True)
    raise NoCall(f"neither the rows nor the columns of {name} are contiguous")


def _vector(place: Place, axis: Axis) -> Vector:
    step = axis.step(place)
    if not 0 < step <= LARGEST:
        raise NoCall("a vector has a negative or zero stride")
    return Vector(place, step)
