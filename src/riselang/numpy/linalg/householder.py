"""Reflections that eliminate the elements of a column below a position (Householder).

A reflection is `I - tau v v*`, with `v` zero above the position and one at it, as in LAPACK: the
elements of `v` below the position are stored in place of the elements that are eliminated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from riselang.dialects.rise.types import ScalarType, f32
from riselang.dsl import patterns
from riselang.dsl.arrays import constructors
from riselang.dsl.arrays.layout import concatenate_first
from riselang.dsl.arrays.shapes import element_type, literal_of, rank_of, shape_of
from riselang.dsl.prelude import complex
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation

RANGES = {f32: (2.0**-40, 2.0**40)}
DEFAULT_RANGE = 2.0**-400, 2.0**400
"""The magnitudes of matrices that are not scaled."""
MIN_STAGED, STAGES = 160, 4
"""From how many reflections on they are computed in stages, and in how many."""


def stored(x: Value) -> Value:
    """Return an array that is computed now, before any array that it reads is overwritten."""
    return patterns.to_mem("heap", x)


def scalar_of(x: Value) -> ScalarType:
    """Return the type of the elements of an array."""
    type = element_type(x)
    assert isinstance(type, ScalarType)
    return type


def real_type(x: Value) -> ScalarType:
    """Return the type of the absolute values of the elements."""
    type = scalar_of(x)
    return type.part if type.is_complex else type


def conjugate(x: Value) -> Value:
    return x.conj() if scalar_of(x).is_complex else x


def real_part(x: Value) -> Value:
    return x.real if scalar_of(x).is_complex else x


def as_element(x: Value, type: ScalarType) -> Value:
    """Convert real numbers to the type of the elements of a matrix."""
    return complex(x, literal_of(0.0, type.part)) if type.is_complex else x


def positions(n: int) -> Value:
    return constructors.arange(n)


def sum_of(xs: Value) -> Value:
    return patterns.reduce(lambda a, b: a + b, literal_of(0.0, scalar_of(xs)), xs)


def largest_part(x: Value) -> Value:
    """Return the largest absolute value of a part of an element; NaN if there is one."""
    type = scalar_of(x)
    parts = abs(x)
    if type.is_complex:
        parts = patterns.map(lambda z: build_operation("max", abs(z.real), abs(z.imag)), x)
    return patterns.reduce(
        lambda a, b: build_operation("max", a, b), literal_of(0.0, real_type(x)), parts
    )


@dataclass(frozen=True)
class Reflection:
    """A reflection: the vector, the factor, and the element that remains at the position."""

    vector: Value
    tau: Value
    beta: Value


def reflect_column(x: Value, position: Value) -> Reflection:
    """Return the reflection that eliminates the elements of a column after a position.

    The elements are scaled, so that their squares neither overflow nor vanish.
    """
    (n,), type = shape_of(x), scalar_of(x)
    numbers, zero = positions(n.constant), literal_of(0, type)
    scale = largest_part(select(numbers >= position, x, zero))
    scale = select(scale == 0, literal_of(1.0, real_type(x)), scale)
    alpha = element(x, position) / as_element(scale, type)
    rest = stored(select(numbers > position, x / as_element(scale, type), zero))
    squares = sum_of(absolute_square(rest))
    length = build_operation("sqrt", absolute_square(alpha) + squares)
    is_trivial = squares == 0
    if type.is_complex:
        is_trivial = is_trivial & (alpha.imag == 0)
    beta = -build_operation("copysign", length, real_part(alpha))
    beta = select(is_trivial, real_part(alpha), beta)
    pivot = select(is_trivial, literal_of(1, type), alpha - as_element(beta, type))
    tau = select(is_trivial, zero, -pivot / as_element(beta, type))
    vector = select(numbers == position, literal_of(1, type), rest / pivot)
    return Reflection(stored(vector), tau, beta * scale)


def absolute_square(x: Value) -> Value:
    if scalar_of(x).is_complex:
        return x.real * x.real + x.imag * x.imag
    return x * x


def combine_rows(factors: Value, rows: Value) -> Value:
    """Return the sum of rows, each of them multiplied by a factor."""
    columns = shape_of(rows)[1]
    zeros = constructors.full(columns, 0, scalar_of(rows))

    def step(total: Value, factor: Value, row: Value) -> Value:
        return total + row * factor

    return stored(patterns.reduce(step, zeros, patterns.zip(factors, rows)))


@dataclass(frozen=True)
class Stage:
    """Some reflections of the last rows of a matrix: their vectors, as rows, and factors."""

    vectors: Value
    taus: Value


def stage_lengths(steps: int) -> list[int]:
    """Return how many reflections each stage computes.

    The arrays of a loop do not become smaller, so long loops are split into some of them.
    """
    if steps < MIN_STAGED:
        return [steps]
    length = -(-steps // STAGES)
    return [min(length, steps - start) for start in range(0, steps, length)]


def factor_columns(matrix: Value, steps: int) -> tuple[list[Stage], Value]:
    """Make the first columns of a matrix triangular; return the reflections and R."""
    rows, columns = (each.constant for each in shape_of(matrix))
    stages: list[Stage] = []
    parts: list[Value] = []
    for length in stage_lengths(steps):
        stage, matrix = _factor_stage(matrix, length)
        stages.append(stage)
        done = columns - shape_of(matrix)[1].constant
        parts.append(patterns.map(partial(_extended, count=done), matrix[:length]))
        matrix = stored(matrix[length:, length:]) if length < steps else matrix
        steps -= length
        rows -= length
    return stages, stored(concatenate_first(parts))


def _extended(row: Value, count: int) -> Value:
    return patterns.pad_const(count, 0, literal_of(0, scalar_of(row)), row) if count else row


def _factor_stage(matrix: Value, steps: int) -> tuple[Stage, Value]:
    (rows, columns), type = shape_of(matrix), scalar_of(matrix)
    own, numbers, zero = positions(rows.constant), positions(columns.constant), literal_of(0, type)

    def step(state: tuple[Value, ...], k: Value) -> tuple[Value, ...]:
        matrix, vectors, taus = state
        column = stored(patterns.map(lambda row: element(row, k), matrix))
        reflection = reflect_column(column, k)
        kept = combine_rows(conjugate(reflection.vector), matrix)
        kept = stored(select(numbers > k, kept * conjugate(reflection.tau), zero))
        beta = as_element(reflection.beta, type)
        new = stored(select(own > k, zero, select(own == k, beta, column)))

        def update(row: Value, factor: Value, entry: Value) -> Value:
            return replaced(row - kept * factor, k, entry)

        pairs = patterns.zip(matrix, patterns.zip(reflection.vector, new))
        return (
            patterns.map(update, pairs),
            replaced(vectors, k, reflection.vector),
            replaced(taus, k, reflection.tau),
        )

    start = (
        matrix, constructors.full((steps, rows), 0, type), constructors.full(steps, 0, type)
    )  # fmt: skip
    matrix, vectors, taus = patterns.reduce(step, start, positions(steps))
    return Stage(vectors, taus), matrix


def multiply_stage(stage: Stage, matrix: Value) -> Value:
    """Multiply a matrix from the left by the product of the reflections of a stage."""

    def step(matrix: Value, pair: Value) -> Value:
        vector, tau = pair[0], pair[1]
        kept = stored(combine_rows(conjugate(vector), matrix) * tau)
        return patterns.map(lambda row, factor: row - kept * factor, patterns.zip(matrix, vector))

    pairs = patterns.zip(patterns.reverse(stage.vectors), patterns.reverse(stage.taus))
    return patterns.reduce(step, matrix, pairs)


def multiply_reflections(stages: Sequence[Stage], columns: int) -> Value:
    """Return the first columns of the product of all reflections."""
    first = stages[0]
    steps, rows = (each.constant for each in shape_of(first.vectors))
    type = scalar_of(first.vectors)
    if len(stages) == 1:
        matrix = constructors.eye(rows, columns, 0, type)
    else:
        rest = multiply_reflections(stages[1:], columns - steps)
        top = constructors.eye(steps, columns, 0, type)
        below = patterns.map(lambda row: _extended(row, steps), rest)
        matrix = concatenate_first([top, below])
    return stored(multiply_stage(first, matrix))


def element(x: Value, position: Value) -> Value:
    """Return an element; the position is in bounds."""
    return patterns.at(patterns.clamp_idx(shape_of(x)[0], position), x)


def replaced(x: Value, position: Value, value: Value) -> Value:
    """Return an array with a new element; the position is in bounds."""
    part = patterns.generate(lambda _: value, n=1)
    return patterns.update_at(patterns.clamp_idx(shape_of(x)[0], position), part, x)


def largest_element(x: Value) -> Value:
    """Return the largest absolute value of a part of an element of an array."""
    if rank_of(x) == 1:
        return largest_part(x)
    return largest_part(stored(patterns.map(largest_element, x)))


def safe_scale(largest: Value) -> Value:
    """Return a number by which a matrix is divided, so that squares of elements are in range.

    It is 1 unless the largest element is very large or very small.
    """
    type = scalar_of(largest)
    low, high = RANGES.get(type, DEFAULT_RANGE)
    is_outside = ((largest > 0) & (largest < low)) | (largest > high)
    return select(is_outside, largest, literal_of(1.0, type))


def pack_reflections(matrix: Value) -> tuple[Value, Value]:
    """Return R above the vectors of the reflections that lead to it, and their factors."""
    rows, columns = (each.constant for each in shape_of(matrix))
    stages, r = factor_columns(matrix, min(rows, columns))
    zero, start = literal_of(0, scalar_of(matrix)), 0
    vectors: list[Value] = []
    for stage in stages:
        vectors.append(patterns.map(partial(_extended, count=start), stage.vectors))
        start += shape_of(stage.vectors)[0].constant
    below = patterns.transpose(stored(concatenate_first(vectors)))
    below = patterns.map(lambda row: patterns.pad_const(0, columns - start, zero, row), below)
    empty = patterns.generate(lambda _: zero, n=columns)
    above = patterns.pad_const(0, rows - start, empty, r)
    i, j = positions(rows)[:, None], positions(columns)
    packed = stored(select(i > j, stored(below), stored(above)))
    return packed, stored(concatenate_first([stage.taus for stage in stages]))


def unpack_reflections(packed: Value, taus: Value) -> Value:
    """Return the product of reflections that are stored below a diagonal."""
    (rows, columns), steps, type = (
        shape_of(packed),
        shape_of(taus)[0].constant,
        scalar_of(packed),
    )
    i = positions(rows.constant)

    def vector(column: Value, k: Value) -> Value:
        below = select(i > k, column, literal_of(0, type))
        return select(i == k, literal_of(1, type), below)

    first = patterns.transpose(patterns.map(patterns.take(steps), packed))
    vectors = stored(patterns.map(vector, patterns.zip(first, positions(steps))))
    return multiply_reflections([Stage(vectors, taus)], columns.constant)
