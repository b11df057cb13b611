"""Triangular factors, and systems of linear equations: Cholesky, Gaussian elimination with partial
pivoting, and substitution."""

from __future__ import annotations

from riselang.dsl import patterns
from riselang.dsl.arrays import constructors
from riselang.dsl.arrays.shapes import literal_of, shape_of
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation
from riselang.numpy.linalg.householder import (
    as_element,
    combine_rows,
    conjugate,
    element,
    positions,
    real_part,
    real_type,
    replaced,
    scalar_of,
    stored,
)
from riselang.numpy.linalg.rotations import number


def cholesky_factor(matrix: Value) -> Value:
    """Return L of A = L L* of a Hermitian matrix; NaN if the matrix is not positive definite."""
    n, type = shape_of(matrix)[0].constant, scalar_of(matrix)
    numbers, zero = positions(n), literal_of(0, type)

    def step(state: tuple[Value, ...], k: Value) -> tuple[Value, ...]:
        matrix, columns = state
        column = stored(patterns.map(lambda row: element(row, k), matrix))
        pivot = build_operation("sqrt", real_part(element(column, k)))
        pivot = as_element(pivot, type)
        below = select(numbers > k, column / pivot, zero)
        found = stored(select(numbers == k, pivot, below))
        rest = stored(conjugate(select(numbers > k, found, zero)))

        def update(row: Value, factor: Value) -> Value:
            return row - rest * factor

        return patterns.map(update, patterns.zip(matrix, found)), replaced(columns, k, found)

    start = (matrix, constructors.full((n, n), 0, type))
    _, columns = patterns.reduce(step, start, positions(n))
    last = real_part(element(element(columns, number(n - 1)), number(n - 1)))
    nan = as_element(literal_of(float("nan"), real_type(matrix)), type)
    factor = patterns.transpose(columns)
    return stored(_where_lower(select(last > 0, literal_of(1, type), nan), factor))


def _where_lower(flag: Value, factor: Value) -> Value:
    """Multiply the elements of a lower triangle, which are NaN if the flag is."""
    n = shape_of(factor)[0].constant
    i, zero = positions(n), literal_of(0, scalar_of(factor))

    def row(xs: Value, k: Value) -> Value:
        return select(i <= k, xs * flag, zero)

    return patterns.map(row, patterns.zip(factor, i))


def eliminate(matrix: Value, steps: int) -> tuple[Value, Value, Value]:
    """Return the triangular factors in one matrix, the order of the rows, and the number of swaps.

    The rows may be longer than `steps`: their other elements are changed, too.
    """
    (rows, columns), type = shape_of(matrix), scalar_of(matrix)
    own, numbers = positions(rows.constant), positions(columns.constant)
    zero = literal_of(0, type)

    def step(state: tuple[Value, ...], k: Value) -> tuple[Value, ...]:
        matrix, order, swaps = state
        column = stored(patterns.map(lambda row: element(row, k), matrix))
        p = pivot_row(column, k)
        at_k, at_p = stored(element(matrix, k)), stored(element(matrix, p))
        pivot = element(column, p)
        swapped = stored(replaced(replaced(column, p, element(column, k)), k, pivot))
        is_zero = pivot == zero
        divisor = select(is_zero, literal_of(1, type), pivot)
        factors = stored(select(own > k, swapped / divisor, zero))
        kept = stored(select(numbers > k, at_p, zero))
        first = element(order, k)
        new_order = replaced(replaced(order, k, element(order, p)), p, first)

        def update(row: Value, factor: Value, entry: Value) -> Value:
            return replaced(row - kept * factor, k, entry)

        entries = stored(select(own > k, factors, swapped))
        pairs = patterns.zip(
            replaced(replaced(matrix, p, at_k), k, at_p), patterns.zip(factors, entries)
        )
        one = select(p == k, number(0), number(1))
        return patterns.map(update, pairs), stored(new_order), swaps + one

    start = (matrix, own, number(0))
    matrix, order, swaps = patterns.reduce(step, start, positions(steps))
    return matrix, order, swaps


def pivot_row(column: Value, k: Value) -> Value:
    """Return the first position from `k` on with the largest magnitude."""
    type = real_type(column)

    def size(x: Value) -> Value:
        return abs(x.real) + abs(x.imag) if scalar_of(x).is_complex else abs(x)

    def larger(state: tuple[Value, Value], i: Value) -> tuple[Value, Value]:
        value = size(element(column, i))
        is_taken = (i >= k) & (value > state[0])
        return select(is_taken, value, state[0]), select(is_taken, i, state[1])

    n = shape_of(column)[0].constant
    found = patterns.reduce(larger, (literal_of(-1.0, type), k), positions(n))
    return found[1]


def solve_square(matrix: Value, right: Value) -> Value:
    """Solve A X = B by elimination."""
    n = shape_of(matrix)[0].constant
    wide = patterns.map(patterns.concat, patterns.zip(matrix, right))
    eliminated, _, _ = eliminate(stored(wide), n)
    factors = patterns.map(patterns.take(n), eliminated)
    rows = patterns.map(patterns.drop(n), eliminated)
    return substitute(stored(factors), stored(rows), lower=False, unit=False)


def substitute(matrix: Value, right: Value, *, lower: bool, unit: bool) -> Value:
    """Solve A X = B, where A is a triangle; its other elements are ignored."""
    n, type = shape_of(matrix)[0].constant, scalar_of(matrix)
    numbers, zero = positions(n), literal_of(0, type)

    def step(rows: Value, i: Value) -> Value:
        k = i if lower else number(n - 1) - i
        own = element(matrix, k)
        is_known = numbers < k if lower else numbers > k
        factors = stored(select(is_known, own, zero))
        rest = element(right, k) - combine_rows(factors, rows)
        found = rest if unit else rest / element(own, k)
        return replaced(rows, k, stored(found))

    zeros = constructors.full(shape_of(right), 0, type)
    return patterns.reduce(step, zeros, numbers)


def determinant_parts(matrix: Value) -> tuple[Value, Value]:
    """Return the diagonal of the upper factor, and the sign of the order of the rows."""
    n, type = shape_of(matrix)[0].constant, scalar_of(matrix)
    factors, _, swaps = eliminate(matrix, n)
    is_odd = (swaps % 2) == 1
    one = literal_of(1, type)
    diagonal = patterns.generate(lambda i: factors[i][i], n=n)
    return stored(diagonal), select(is_odd, -one, one)
