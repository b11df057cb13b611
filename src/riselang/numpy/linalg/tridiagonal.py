"""Eigenvalues and eigenvectors of Hermitian matrices.

Reflections make a matrix tridiagonal; then rotations make it diagonal (the QL algorithm with
implicit shifts).
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
    real_part,
    real_type,
    reflect_column,
    replaced,
    safe_scale,
    scalar_of,
    stage_lengths,
    stored,
    sum_of,
)
from riselang.numpy.linalg.rotations import (
    copy_sign,
    epsilon,
    number,
    rotate_rows,
    rotation,
    sqrt,
)

MAX_SWEEPS = 30
"""How many sweeps an eigenvalue may take; the results are NaN after more."""


@dataclass(frozen=True)
class Tridiagonal:
    """A real tridiagonal matrix, and the reflections that lead to it."""

    diagonal: Value
    adjacent: Value
    """The elements next to the diagonal; there are as many as on it, of which the last one is 0."""
    stages: Sequence[Stage]


def tridiagonalize(matrix: Value) -> Tridiagonal:
    n = shape_of(matrix)[0].constant
    diagonals: list[Value] = []
    adjacents: list[Value] = []
    stages: list[Stage] = []
    for length in stage_lengths(n - 1) if n > 1 else []:
        stage, adjacent, matrix = _tridiagonalize_stage(matrix, length)
        stages.append(stage)
        adjacents.append(adjacent)
        diagonals.append(patterns.take(length, _diagonal(matrix)))
        matrix = stored(matrix[length:, length:])
    diagonals.append(_diagonal(matrix))
    adjacents.append(constructors.full(1, 0, real_type(matrix)))
    return Tridiagonal(
        stored(concatenate_first(diagonals)), stored(concatenate_first(adjacents)), stages
    )


def _diagonal(matrix: Value) -> Value:
    return patterns.generate(lambda i: real_part(matrix[i][i]), n=shape_of(matrix)[0])


def _tridiagonalize_stage(matrix: Value, steps: int) -> tuple[Stage, Value, Value]:
    n, type = shape_of(matrix)[0].constant, scalar_of(matrix)
    numbers, zero, half = positions(n), literal_of(0, type), literal_of(0.5, type)

    def step(state: tuple[Value, ...], k: Value) -> tuple[Value, ...]:
        matrix, vectors, adjacent, taus = state
        column = stored(patterns.map(lambda row: element(row, k), matrix))
        reflection = reflect_column(column, k + 1)
        v, tau = reflection.vector, reflection.tau
        product = stored(conjugate(combine_rows(conjugate(v), matrix)) * tau)
        overlap = sum_of(conjugate(product) * v) * tau * half
        w = stored(select(numbers > k, product - v * overlap, zero))
        pairs = stored(patterns.zip(conjugate(w), conjugate(v)))

        def update(row: Value, b: Value, c: Value) -> Value:
            return patterns.map(lambda a, p: a - b * p[0] - c * p[1], patterns.zip(row, pairs))

        return (
            patterns.map(update, patterns.zip(matrix, patterns.zip(v, w))),
            replaced(vectors, k, v),
            replaced(adjacent, k, reflection.beta),
            replaced(taus, k, tau),
        )

    start = (
        matrix,
        constructors.full((steps, n), 0, type),
        constructors.full(steps, 0, real_type(matrix)),
        constructors.full(steps, 0, type),
    )
    matrix, vectors, adjacent, taus = patterns.reduce(step, start, positions(steps))
    return Stage(vectors, taus), adjacent, matrix


def eigen_decompose(matrix: Value, with_vectors: bool) -> tuple[Value, Value | None]:
    """Return the eigenvalues in ascending order, and the eigenvectors as columns."""
    n, type = shape_of(matrix)[0].constant, scalar_of(matrix)
    scale = safe_scale(largest_element(matrix))
    matrix = stored(matrix / as_element(scale, type))
    found = tridiagonalize(matrix)
    rows = None
    if with_vectors:
        identity = constructors.eye(n, n, 0, type)
        vectors = multiply_reflections(found.stages, n) if n > 1 else identity
        rows = stored(patterns.transpose(vectors))
    values, rows = diagonalize(found.diagonal, found.adjacent, rows)
    order = stored(patterns.map(patterns.clamp_idx(n), selections.argsort(values)))
    values = stored(patterns.gather(order, values) * scale)
    if rows is None:
        return values, None
    return values, patterns.transpose(stored(patterns.gather(order, rows)))


def diagonalize(d: Value, e: Value, rows: Value | None) -> tuple[Value, Value | None]:
    """Return the eigenvalues of a tridiagonal matrix, and rows to which all rotations are applied.

    The state of the loop are the first eigenvalue that is not known yet, the number of sweeps, the
    matrix, and the rows. A sweep takes the elements from `first` to `last`, which are connected.
    """
    n = shape_of(d)[0].constant
    if n == 1:
        return d, rows

    def is_unfinished(state: tuple[Value, ...]) -> Value:
        return (state[0] < n) & (state[1] < MAX_SWEEPS * n)

    def sweep(state: tuple[Any, ...]) -> tuple[Any, ...]:
        first, count, d, e, *rest = state
        last = last_connected(d, e, first)
        is_found = last == first
        c, s, new_d, new_e = _sweep(d, e, first, last)
        head = (first + select(is_found, number(1), number(0)), count + 1, new_d, new_e)
        if not rest:
            return head
        return (*head, rotate_backwards(rest[0][1], c, s, first, last - 1))

    start = (number(0), number(0), d, e)
    if rows is not None:
        start = (*start, (number(0), rows))
    state = patterns.while_(is_unfinished, sweep, start)
    not_found = state[0] < n
    nan = literal_of(float("nan"), scalar_of(d))
    values = stored(select(not_found, nan, state[2]))
    return values, state[4][1] if rows is not None else None


def last_connected(d: Value, e: Value, first: Value) -> Value:
    """Return the last element that is connected to the first one by elements that matter."""
    n = shape_of(d)[0].constant
    limit = epsilon(scalar_of(d))

    def step(state: Value, k: Value) -> Value:
        size = abs(element(d, k)) + abs(element(d, k + 1))
        is_connected = (abs(element(e, k)) > limit * size) & (k == state)
        return select(is_connected, k + 1, state)

    def skip(state: Value, k: Value) -> Value:
        return select(k < first, state, step(state, k))

    return patterns.reduce(skip, first, positions(n - 1))


def rotate_backwards(rows: Value, c: Value, s: Value, first: Value, last: Value) -> Any:
    """Rotate the rows from `last + 1` to `first`, two at a time."""

    def rotate(state: tuple[Value, Value]) -> tuple[Value, Value]:
        k, rows = state
        return k - 1, rotate_rows(rows, k, element(c, k), element(s, k))

    return patterns.while_(lambda state: state[0] >= first, rotate, (last, rows))


def _sweep(d: Value, e: Value, first: Value, last: Value) -> tuple[Value, ...]:
    """Return the rotations of one sweep, and the matrix after it."""
    type, n = scalar_of(d), shape_of(d)[0].constant
    zero, one = literal_of(0.0, type), literal_of(1.0, type)
    adjacent = element(e, first)
    is_found = last == first
    adjacent = select(is_found, one, adjacent)
    g = (element(d, clamped(first + 1, n)) - element(d, first)) / (adjacent * 2.0)
    r = copy_sign(sqrt(g * g + 1.0), g)
    shifted = element(d, last) - element(d, first) + adjacent / (g + r)

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        k, g, c, s, p, d, e, cs, ss = state
        f, b = s * element(e, k), c * element(e, k)
        new_c, new_s, r = rotation(g, f)
        shifted = element(d, k + 1) - p
        own = element(d, k)
        t = (own - shifted) * new_s + new_c * b * 2.0
        new_p = new_s * t
        return (
            k - 1, new_c * t - b, new_c, new_s, new_p,
            replaced(d, k + 1, shifted + new_p), replaced(e, k + 1, r),
            replaced(cs, k, new_c), replaced(ss, k, -new_s),
        )  # fmt: skip

    zeros = constructors.full(n, 0, type)
    start = (last - 1, shifted, one, one, zero, d, e, zeros, zeros)
    state = patterns.while_(lambda state: state[0] >= first, step, start)
    _, g, _, _, p, d, e, cs, ss = state
    d = replaced(d, first, element(d, first) - p)
    e = replaced(replaced(e, first, select(is_found, element(e, first), g)), last, zero)
    return stored(cs), stored(ss), stored(d), stored(e)


def clamped(k: Value, n: int) -> Value:
    return select(k < n, k, number(n - 1))
