"""Exponentials of matrices: a rational approximation of a scaled matrix, squared repeatedly."""

from __future__ import annotations

from math import factorial

from riselang.dialects.rise.types import f32, i64
from riselang.dsl import patterns
from riselang.dsl.arrays import constructors
from riselang.dsl.arrays.shapes import literal_of, shape_of
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation, convert
from riselang.numpy.linalg.decompositions import product, solve_function
from riselang.numpy.linalg.householder import as_element, real_type, scalar_of, stored
from riselang.numpy.linalg.rotations import number

DEGREES = {f32: (7, 3.925724783138660)}
DEFAULT_DEGREE = (13, 5.371920351148152)
"""The degree of the approximation, and the norm up to which it is as exact as the type."""
MAX_SQUARINGS = 1100


def _coefficients(degree: int) -> list[int]:
    return [
        factorial(2 * degree - k) // (factorial(degree - k) * factorial(k))
        for k in range(degree + 1)
    ]


def exponentiate(x: Value) -> Value:
    n, type, real = shape_of(x)[0].constant, scalar_of(x), real_type(x)
    degree, limit = DEGREES.get(real, DEFAULT_DEGREE)
    count = _squarings(x, limit)
    scale = build_operation("exp2", -convert(count, real))
    scaled = stored(x * as_element(scale, type))
    coefficients = _coefficients(degree)
    identity = constructors.eye(n, n, 0, type)
    square = product(scaled, scaled)
    odd = identity * literal_of(float(coefficients[1]), type)
    even = identity * literal_of(float(coefficients[0]), type)
    power = square
    for k in range(2, degree + 1, 2):
        even = even + power * literal_of(float(coefficients[k]), type)
        if k + 1 <= degree:
            odd = odd + power * literal_of(float(coefficients[k + 1]), type)
        power = product(power, square) if k + 2 <= degree else power
    odd = product(scaled, stored(odd))
    even = stored(even)
    found = solve_function(patterns.tuple(stored(even - odd), stored(even + odd)))
    state = patterns.while_(
        lambda state: state[0] > 0,
        lambda state: (state[0] - 1, product(state[1], state[1])),
        (count, stored(found)),
    )
    return state[1]


def _squarings(x: Value, limit: float) -> Value:
    """Return how often the matrix must be halved until its norm is below a limit."""
    real = real_type(x)
    sums = patterns.map(
        lambda column: patterns.reduce(
            lambda a, b: a + b, literal_of(0.0, real), patterns.map(abs, column)
        ),
        patterns.transpose(x),
    )
    zero = literal_of(0.0, real)
    norm = patterns.reduce(lambda a, b: select(a < b, b, a), zero, sums)
    ratio = build_operation("ceil", build_operation("log2", norm / limit))
    is_small = ((norm > limit) & (norm < float("inf"))) ^ True
    count = convert(select(is_small, zero, ratio), i64)
    return select(count > MAX_SQUARINGS, number(MAX_SQUARINGS), count)
