"""Singular values and vectors.

Reflections from both sides make a matrix bidiagonal; then rotations from both sides make it
diagonal (the QR algorithm with implicit shifts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riselang.dsl import patterns
from riselang.dsl.arrays import constructors, selections
from riselang.dsl.arrays.layout import concatenate_first
from riselang.dsl.arrays.shapes import literal_of, shape_of
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value
from riselang.numpy.linalg.householder import (
    Stage,
    as_element,
    combine_rows,
    conjugate,
    element,
    largest_element,
    multiply_reflections,
    positions,
    real_type,
    reflect_column,
    replaced,
    safe_scale,
    scalar_of,
    stage_lengths,
    stored,
)
from riselang.numpy.linalg.rotations import (
    epsilon,
    larger,
    number,
    rotate_rows,
    rotation,
    sqrt,
)

LANES = 16
"""The number of partial sums of a product of a row and a vector."""
MAX_SWEEPS = 30
"""How many sweeps a singular value may take; the results are NaN after more."""


@dataclass(frozen=True)
class Bidiagonal:
    """A real bidiagonal matrix, and the reflections of rows and columns that lead to it."""

    diagonal: Value
    above: Value
    """The elements above the diagonal; there are as many as on it, of which the last one is 0."""
    left: Sequence[Stage]
    right: Sequence[Stage]


def bidiagonalize(matrix: Value) -> Bidiagonal:
    """Make a matrix bidiagonal that has at least as many rows as columns."""
    steps = shape_of(matrix)[1].constant
    parts: list[tuple[Stage, Stage, Value, Value]] = []
    for length in stage_lengths(steps):
        *part, matrix = _bidiagonalize_stage(matrix, length)
        parts.append(tuple(part))  # type: ignore[arg-type]
        steps -= length
        matrix = stored(matrix[length:, length:]) if steps else matrix
    left, right, diagonals, aboves = zip(*parts, strict=True)
    return Bidiagonal(
        stored(concatenate_first(diagonals)), stored(concatenate_first(aboves)), left, right
    )


def _bidiagonalize_stage(matrix: Value, steps: int) -> tuple[Stage, Stage, Value, Value, Value]:
    (rows, columns), type = shape_of(matrix), scalar_of(matrix)
    numbers, zero = positions(columns.constant), literal_of(0, type)

    def step(state: tuple[Value, ...], k: Value) -> tuple[Value, ...]:
        matrix, lefts, rights, left_taus, right_taus, diagonal, above = state
        column = stored(patterns.map(lambda row: element(row, k), matrix))
        left = reflect_column(column, k)
        kept = combine_rows(conjugate(left.vector), matrix)
        kept = stored(select(numbers > k, kept * conjugate(left.tau), zero))
        row = element(matrix, k) - kept * element(left.vector, k)
        # The last row has no elements after the diagonal.
        row = stored(select(numbers > k, conjugate(row), zero))
        is_last = k == columns.constant - 1
        right = reflect_column(row, select(is_last, k, k + 1))
        tau = select(is_last, zero, right.tau)
        factors = stored(conjugate(right.vector) * tau)

        def update(row: Value, factor: Value) -> Value:
            first = stored(row - kept * factor)
            product = dot(first, right.vector)
            return first - factors * product

        return (
            patterns.map(update, patterns.zip(matrix, left.vector)),
            replaced(lefts, k, left.vector),
            replaced(rights, k, right.vector),
            replaced(left_taus, k, left.tau),
            replaced(right_taus, k, tau),
            replaced(diagonal, k, left.beta),
            replaced(above, k, select(is_last, literal_of(0.0, real_type(matrix)), right.beta)),
        )

    start = (
        matrix,
        constructors.full((steps, rows), 0, type),
        constructors.full((steps, columns), 0, type),
        *(constructors.full(steps, 0, each) for each in (type, type)),
        *(constructors.full(steps, 0, real_type(matrix)) for _ in range(2)),
    )
    found = patterns.reduce(step, start, positions(steps))
    matrix, lefts, rights, left_taus, right_taus, diagonal, above = found
    return Stage(lefts, left_taus), Stage(rights, right_taus), diagonal, above, matrix


def dot(x: Value, y: Value) -> Value:
    """Return the dot product of two vectors, from as many partial sums as are computed at once."""
    type, n = scalar_of(x), shape_of(x)[0].constant
    products = patterns.zip(x, y)
    zero = literal_of(0, type)

    def add(total: Value, pair: Value) -> Value:
        return total + pair[0] * pair[1]

    lanes = 1 if type.is_complex else LANES
    if n < 2 * lanes or lanes == 1:
        return patterns.reduce(add, zero, products)
    count = n - n % lanes

    def add_lanes(totals: Value, pairs: Value) -> Value:
        return patterns.map(add, patterns.zip(totals, pairs))

    chunks = patterns.split(lanes, patterns.take(count, products))
    start = constructors.full(lanes, 0, type)
    totals = stored(patterns.reduce(add_lanes, start, chunks))
    total = patterns.reduce(lambda a, b: a + b, zero, totals)
    if count == n:
        return total
    return patterns.reduce(add, total, patterns.drop(count, products))


def singular_decompose(
    matrix: Value, with_vectors: bool, full: bool
) -> tuple[Value | None, Value, Value | None]:
    """Return U, the singular values in descending order, and the conjugate transpose of V."""
    rows, columns = (each.constant for each in shape_of(matrix))
    if rows < columns:
        adjoint = stored(conjugate(patterns.transpose(matrix)))
        u, values, v = singular_decompose(adjoint, with_vectors, full)
        if u is None or v is None:
            return None, values, None
        return conjugate(patterns.transpose(v)), values, conjugate(patterns.transpose(u))
    scale = safe_scale(largest_element(matrix))
    matrix = stored(matrix / as_element(scale, scalar_of(matrix)))
    found = bidiagonalize(matrix)
    pair = None
    if with_vectors:
        left = multiply_reflections(found.left, rows if full else columns)
        right = multiply_reflections(found.right, columns)
        pair = stored(patterns.transpose(left)), stored(patterns.transpose(right))
    values, pair = diagonalize(found.diagonal, found.above, pair)
    sizes = stored(abs(values))
    order = selections.argsort(sizes, descending=True)
    order = stored(patterns.map(patterns.clamp_idx(columns), order))
    sorted_values = stored(patterns.gather(order, sizes) * scale)
    if pair is None:
        return None, sorted_values, None
    u, v = _sorted_vectors(order, values, *pair)
    return u, sorted_values, v


def _sorted_vectors(order: Value, values: Value, u: Value, v: Value) -> tuple[Value, Value]:
    """Return U, and the conjugate transpose of V; columns of negative values are negated."""
    columns = shape_of(values)[0].constant
    type = scalar_of(v)
    first = patterns.gather(order, patterns.take(columns, u))
    rest = shape_of(u)[0].constant - columns
    whole = patterns.concat(first, patterns.drop(columns, u)) if rest else first
    one = literal_of(1.0, real_type(v))
    signs = stored(select(values < 0, -one, one))
    turned = patterns.map(
        lambda row, sign: conjugate(row) * as_element(sign, type), patterns.zip(v, signs)
    )
    return patterns.transpose(stored(whole)), stored(patterns.gather(order, stored(turned)))


Pair = tuple[Value, Value]


def diagonalize(d: Value, e: Value, pair: Pair | None) -> tuple[Value, Pair | None]:
    """Return the singular values of a bidiagonal matrix with signs, and the rows of U and V after
    all rotations.

    The state of the loop are the number of values that are not known yet, the number of sweeps, the
    matrix, and the rows.
    """
    n = shape_of(d)[0].constant
    if n == 1:
        return d, pair
    limit = stored(epsilon(scalar_of(d)) * largest_element(stored(concatenate_first([d, e]))))

    def is_unfinished(state: tuple[Value, ...]) -> Value:
        return (state[0] > 1) & (state[1] < MAX_SWEEPS * n)

    def sweep(state: tuple[Any, ...]) -> tuple[Any, ...]:
        size, count, d, e, *rest = state
        last = size - 1
        first = first_connected(e, last, limit)
        is_found = first == last
        new_d, new_e, right, left = _sweep(d, e, first, last, limit)
        head = (size - select(is_found, number(1), number(0)), count + 1, new_d, new_e)
        if not rest:
            return head
        u, v = rest[0][1], rest[1][1]
        return (
            *head, rotate_forwards(u, *left, first, last), rotate_forwards(v, *right, first, last)
        )  # fmt: skip

    start = (number(n), number(0), d, e)
    if pair is not None:
        start = (*start, (number(0), pair[0]), (number(0), pair[1]))
    state = patterns.while_(is_unfinished, sweep, start)
    nan = literal_of(float("nan"), scalar_of(d))
    values = stored(select(state[0] > 1, nan, state[2]))
    return values, (state[4][1], state[5][1]) if pair is not None else None


def first_connected(e: Value, last: Value, limit: Value) -> Value:
    """Return the first element that is connected to the last one by elements that matter."""
    n = shape_of(e)[0].constant

    def step(state: Value, k: Value) -> Value:
        is_connected = abs(element(e, k)) > limit
        return select((k >= last) | is_connected, state, k + 1)

    return patterns.reduce(step, number(0), positions(n - 1))


def rotate_forwards(rows: Value, c: Value, s: Value, first: Value, last: Value) -> Any:
    """Rotate the rows from `first` to `last`, two at a time."""

    def rotate(state: tuple[Value, Value]) -> tuple[Value, Value]:
        k, rows = state
        return k + 1, rotate_rows(rows, k, element(c, k), element(s, k))

    return patterns.while_(lambda state: state[0] < last, rotate, (first, rows))


def _shift(d: Value, e: Value, first: Value, last: Value, limit: Value) -> Value:
    """Return the smaller singular value of the last two columns, or 0 if the matrix is singular."""
    type = scalar_of(d)
    zero, one = literal_of(0.0, type), literal_of(1.0, type)
    before = select(last > first, last - 1, last)
    f, g, h = (abs(element(d, before)), abs(element(e, before)), abs(element(d, last)))
    smaller, larger_ = select(f < h, f, h), larger(f, h)
    is_zero = smaller == 0
    safe = select(larger_ == 0, one, larger_)
    a = one + smaller / safe
    t = (larger_ - smaller) / safe
    u = g / safe
    value = smaller * 2.0 / (sqrt(t * t + u * u) + sqrt(a * a + u * u))
    least = _least(d, first, last)
    own = abs(element(d, first))
    ratio = value / select(own == 0, one, own)
    is_negligible = ratio * ratio < epsilon(type)
    return select(is_zero | is_negligible | (least <= limit), zero, value)


def _least(d: Value, first: Value, last: Value) -> Value:
    """Return the smallest magnitude on the diagonal from `first` to `last`."""
    n = shape_of(d)[0].constant

    def step(state: Value, k: Value) -> Value:
        value = abs(element(d, k))
        is_smaller = (k >= first) & (k <= last) & (value < state)
        return select(is_smaller, value, state)

    return patterns.reduce(step, abs(element(d, last)), positions(n))


def _sweep(
    d: Value, e: Value, first: Value, last: Value, limit: Value
) -> tuple[Value, Value, Pair, Pair]:
    """Return the matrix after one sweep, and the rotations from the right and from the left."""
    type, n = scalar_of(d), shape_of(d)[0].constant
    shift = _shift(d, e, first, last, limit)
    zero, one = literal_of(0.0, type), literal_of(1.0, type)
    own = element(d, first)
    divisor = select(own == 0, one, own)
    sign = select(own < 0, -one, one)
    is_shifted = shift > 0
    start_f = select(is_shifted, (abs(own) - shift) * (sign + shift / divisor), own)
    start_g = element(e, first)

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        k, f, g, d, e, cr, sr, cl, sl = state
        c1, s1, r1 = rotation(f, g)
        before = select(k > first, k - 1, k)
        e1 = replaced(e, before, select(k > first, r1, element(e, before)))
        own, beside, after = element(d, k), element(e1, k), element(d, k + 1)
        f2 = c1 * own + s1 * beside
        beside2 = c1 * beside - s1 * own
        g2, after2 = s1 * after, c1 * after
        c2, s2, r2 = rotation(f2, g2)
        f3 = c2 * beside2 + s2 * after2
        d1 = replaced(replaced(d, k, r2), k + 1, c2 * after2 - s2 * beside2)
        following = select(k + 1 < last, k + 1, k)
        is_inner = k + 1 < last
        e_next = element(e, following)
        e2 = replaced(e1, k, f3)
        e3 = replaced(e2, following, select(is_inner, c2 * e_next, f3))
        return (
            k + 1, f3, select(is_inner, s2 * e_next, zero), d1, e3,
            replaced(cr, k, c1), replaced(sr, k, s1), replaced(cl, k, c2), replaced(sl, k, s2),
        )  # fmt: skip

    zeros = constructors.full(n, 0, type)
    start = (first, start_f, start_g, d, e, zeros, zeros, zeros, zeros)
    state = patterns.while_(lambda state: state[0] < last, step, start)
    d, e, *rotations = (stored(each) for each in state[3:])
    cr, sr, cl, sl = rotations
    return d, e, (cr, sr), (cl, sl)
