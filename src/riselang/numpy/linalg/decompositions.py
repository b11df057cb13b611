"""Decompositions of one matrix with their derivatives, and of each matrix of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from riselang.dialects.rise.types import f32
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import map_elements
from riselang.dsl.arrays.shapes import literal_of, rank_of, shape_of
from riselang.dsl.custom_calls import DifferentiableFunction
from riselang.dsl.diagnostics import refuse
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation
from riselang.dsl.tracing import current_trace
from riselang.numpy.linalg import bidiagonal, elimination, tridiagonal
from riselang.numpy.linalg.householder import (
    as_element,
    conjugate,
    factor_columns,
    multiply_reflections,
    positions,
    real_part,
    real_type,
    scalar_of,
    stored,
)


def make_tuple(values: Sequence[Value]) -> Value:
    first, *rest = values
    return patterns.tuple(first, make_tuple(rest)) if rest else first


def components(value: Value, count: int) -> list[Value]:
    parts: list[Value] = []
    for _ in range(count - 1):
        parts.append(patterns.fst(value))
        value = patterns.snd(value)
    return [*parts, value]


def map_matrices(
    name: str, function: Callable[..., Value], operands: Sequence[Value], ranks: Sequence[int],
    count: int = 1,
) -> list[Value]:  # fmt: skip
    """Apply a function that returns a tuple of this many values to matrices and vectors."""
    depth = max(rank_of(each) - rank for each, rank in zip(operands, ranks, strict=True))
    found = map_elements(name, function, operands, ranks)
    if depth == 0:
        return components(found, count)
    found = stored(found)
    return [_component_at(depth, found, number, count) for number in range(count)]


def _component_at(depth: int, value: Value, number: int, count: int) -> Value:
    if depth == 0:
        return components(value, count)[number]
    return patterns.map(lambda each: _component_at(depth - 1, each, number, count), value)


def adjoint(x: Value) -> Value:
    return conjugate(patterns.transpose(x))


def product(x: Value, y: Value) -> Value:
    return stored(x @ y)


def masked(x: Value, is_kept: Callable[[Value, Value], Value]) -> Value:
    """Replace the elements of a matrix at other positions by zero."""
    rows, columns = (each.constant for each in shape_of(x))
    zero = literal_of(0, scalar_of(x))
    return select(is_kept(positions(rows)[:, None], positions(columns)), x, zero)


# QR


@lru_cache
def qr_function(is_complete: bool) -> DifferentiableFunction:
    def decompose(x: Value) -> Value:
        rows, columns = (each.constant for each in shape_of(x))
        steps = min(rows, columns)
        stages, r = factor_columns(x, steps)
        q = multiply_reflections(stages, rows if is_complete else steps)
        if is_complete and rows > columns:
            zero = literal_of(0, scalar_of(x))
            r = stored(patterns.pad_const(0, rows - columns, _zeros(columns, zero), r))
        return make_tuple([q, r])

    def tangent(x: Value, dx: Value) -> tuple[Value, Value]:
        q, r = components(call(x), 2)
        rows, columns = shape_of(x)
        if columns.constant > rows.constant or (is_complete and rows != columns):
            refuse(
                "qr: there is a derivative only for matrices with at least as many rows as "
                "columns, in the mode 'reduced'"
            )
        # dx = dq r + q dr, where the adjoint of q times dq is skew.
        turned = elimination.substitute(adjoint(r), adjoint(dx), lower=True, unit=False)
        scaled = stored(adjoint(stored(turned)))
        own = product(adjoint(q), scaled)
        lower = stored(masked(own, lambda i, j: i > j))
        skew = lower - adjoint(lower)
        skew = stored(skew + masked(own - adjoint(own), lambda i, j: i == j) * _half(x))
        dq = product(q, skew - own) + scaled
        dr = product(own - skew, r)
        return make_tuple([q, r]), make_tuple([stored(dq), dr])

    call = DifferentiableFunction(decompose, tangent)
    return call


def _half(x: Value) -> Value:
    return literal_of(0.5, scalar_of(x))


def _zeros(count: int, zero: Value) -> Value:
    return patterns.generate(lambda _: zero, n=count)


# Eigenvalues


def _eigh(x: Value) -> Value:
    values, vectors = tridiagonal.eigen_decompose(x, True)
    assert vectors is not None
    return make_tuple([values, vectors])


def _eigh_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    type = scalar_of(x)
    values, vectors = components(eigh_function(x), 2)
    turned = product(product(adjoint(vectors), dx), vectors)
    gaps = values[None, :] - values[:, None]
    zero, one = literal_of(0.0, real_type(x)), literal_of(1.0, real_type(x))
    n = shape_of(values)[0].constant
    is_same = positions(n)[:, None] == positions(n)
    inverse = stored(select(is_same, zero, one / select(is_same, one, gaps)))
    found = product(vectors, turned * as_element(inverse, type))
    diagonal = patterns.generate(lambda i: real_part(turned[i][i]), n=n)
    return make_tuple([values, vectors]), make_tuple([stored(diagonal), found])


eigh_function = DifferentiableFunction(_eigh, _eigh_tangent)


def _eigenvalues(x: Value) -> Value:
    return tridiagonal.eigen_decompose(x, False)[0]


def eigenvalues(name: str, x: Value) -> Value:
    """Return the eigenvalues of each matrix of an array."""
    if current_trace().is_differentiated:
        return map_matrices(name, eigh_function, [x], (2,), 2)[0]
    return map_matrices(name, _eigenvalues, [x], (2,))[0]


# Singular values


def _svd(x: Value) -> Value:
    u, values, v = bidiagonal.singular_decompose(x, True, False)
    assert u is not None
    assert v is not None
    return make_tuple([u, values, v])


def _svd_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    type, real = scalar_of(x), real_type(x)
    u, s, vh = components(svd_function(x), 3)
    (rows, columns), (n,) = shape_of(x), shape_of(s)
    zero, one = literal_of(0.0, real), literal_of(1.0, real)
    v = stored(adjoint(vh))
    ds = product(product(adjoint(u), dx), v)
    is_same = positions(n.constant)[:, None] == positions(n.constant)
    gaps = (s[None, :] + s[:, None]) * (s[None, :] - s[:, None])
    inverse = stored(select(is_same, zero, one / select(is_same, one, gaps)))
    inverse = as_element(inverse, type)
    right = stored(ds * as_element(s[None, :], type))
    left = stored(ds * as_element(s[:, None], type))
    safe = stored(select(s == 0, one, s))
    du = inverse * (right + adjoint(right))
    if type.is_complex:
        skew = masked(ds - adjoint(ds), lambda i, j: i == j) * _half(x)
        du = du + skew / as_element(safe, type)
    du = product(u, stored(du))
    dv = product(v, stored(inverse * (left + adjoint(left))))
    if rows.constant > n.constant:
        moved = product(dx, v)
        rest = moved - product(u, product(adjoint(u), moved))
        du = du + rest / as_element(safe, type)
    if columns.constant > n.constant:
        moved = product(adjoint(dx), u)
        rest = moved - product(v, product(adjoint(v), moved))
        dv = dv + rest / as_element(safe, type)
    diagonal = patterns.generate(lambda i: real_part(ds[i][i]), n=n)
    results = make_tuple([u, s, vh])
    return results, make_tuple([stored(du), stored(diagonal), stored(adjoint(stored(dv)))])


svd_function = DifferentiableFunction(_svd, _svd_tangent)


def svd_full(x: Value) -> Value:
    u, values, v = bidiagonal.singular_decompose(x, True, True)
    assert u is not None
    assert v is not None
    return make_tuple([u, values, v])


def _singular_values(x: Value) -> Value:
    return bidiagonal.singular_decompose(x, False, False)[1]


def singular_values(name: str, x: Value) -> Value:
    """Return the singular values of each matrix of an array."""
    if current_trace().is_differentiated:
        return map_matrices(name, svd_function, [x], (2,), 3)[1]
    return map_matrices(name, _singular_values, [x], (2,))[0]


# Cholesky


def _cholesky_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    factor = cholesky_function(x)
    first = stored(elimination.substitute(factor, dx, lower=True, unit=False))
    both = stored(elimination.substitute(factor, adjoint(first), lower=True, unit=False))
    half = masked(both, lambda i, j: i == j) * _half(x)
    lower = stored(masked(both, lambda i, j: i > j) + half)
    return factor, product(factor, lower)


cholesky_function = DifferentiableFunction(elimination.cholesky_factor, _cholesky_tangent)

# Systems of linear equations


def _solve_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    matrix, _ = components(x, 2)
    d_matrix, d_right = components(dx, 2)
    found = stored(solve_function(x))
    rest = stored(d_right - product(d_matrix, found))
    return found, solve_function(patterns.tuple(matrix, rest))


solve_function = DifferentiableFunction(
    lambda x: elimination.solve_square(*components(x, 2)), _solve_tangent
)


@lru_cache
def triangular_function(is_lower: bool, is_unit: bool) -> DifferentiableFunction:
    def solve(x: Value) -> Value:
        return elimination.substitute(*components(x, 2), lower=is_lower, unit=is_unit)

    def tangent(x: Value, dx: Value) -> tuple[Value, Value]:
        matrix, _ = components(x, 2)
        d_matrix, d_right = components(dx, 2)
        found = stored(call(x))

        def is_read(i: Value, j: Value) -> Value:
            if is_unit:
                return i > j if is_lower else i < j
            return i >= j if is_lower else i <= j

        change = stored(masked(d_matrix, is_read))
        rest = stored(d_right - product(change, found))
        return found, call(patterns.tuple(matrix, rest))

    call = DifferentiableFunction(solve, tangent)
    return call


# Determinants


def _slogdet(x: Value) -> Value:
    """Return the sign and the logarithm of the magnitude of the determinant."""
    type, real = scalar_of(x), real_type(x)
    diagonal, sign = elimination.determinant_parts(x)
    one = literal_of(1, type)
    zero = literal_of(0, type)

    def add(state: tuple[Value, Value], value: Value) -> tuple[Value, Value]:
        size = abs(value)
        is_zero = size == 0
        safe = select(is_zero, literal_of(1.0, real), size)
        direction = select(is_zero, zero, value / as_element(safe, type))
        return state[0] * direction, state[1] + build_operation("log", size)

    found = patterns.reduce(add, (sign * one, literal_of(0.0, real)), diagonal)
    return make_tuple([found[0], found[1]])


def _slogdet_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    type, n = scalar_of(x), shape_of(x)[0].constant
    found = slogdet_function(x)
    solved = stored(solve_function(patterns.tuple(x, dx)))
    diagonal = patterns.generate(lambda i: solved[i][i], n=n)
    total = patterns.reduce(lambda a, b: a + b, literal_of(0, type), stored(diagonal))
    sign, _ = components(found, 2)
    turn = (total - as_element(real_part(total), type)) * sign
    return found, make_tuple([turn, real_part(total)])


slogdet_function = DifferentiableFunction(_slogdet, _slogdet_tangent)


def _det(x: Value) -> Value:
    diagonal, sign = elimination.determinant_parts(x)
    return patterns.reduce(lambda a, b: a * b, sign, diagonal)


def _det_tangent(x: Value, dx: Value) -> tuple[Value, Value]:
    type, n = scalar_of(x), shape_of(x)[0].constant
    found = det_function(x)
    solved = stored(solve_function(patterns.tuple(x, dx)))
    diagonal = patterns.generate(lambda i: solved[i][i], n=n)
    total = patterns.reduce(lambda a, b: a + b, literal_of(0, type), stored(diagonal))
    return found, found * total


det_function = DifferentiableFunction(_det, _det_tangent)


# Pseudoinverses


@lru_cache
def pinv_function(limit: float | None) -> DifferentiableFunction:
    """Return the function that computes the pseudoinverse; smaller singular values are zero."""

    def invert(x: Value) -> Value:
        u, s, vh = components(_svd(x), 3)
        inverse = as_element(inverted_values(x, s, limit), scalar_of(x))
        scaled = stored(adjoint(vh) * inverse)
        return product(scaled, stored(adjoint(u)))

    def tangent(x: Value, dx: Value) -> tuple[Value, Value]:
        p = stored(call(x))
        p_adjoint, dx_adjoint = stored(adjoint(p)), stored(adjoint(dx))
        change = product(product(p, dx), p)
        first = product(product(p, p_adjoint), dx_adjoint)
        second = product(dx_adjoint, product(p_adjoint, p))
        above = first - product(product(first, x), p)
        below = second - product(p, product(x, second))
        return p, stored(above + below - change)

    call = DifferentiableFunction(invert, tangent)
    return call


def inverted_values(x: Value, s: Value, limit: float | None) -> Value:
    """Return the inverses of the singular values, but 0 for those below a part of the first one."""
    type = real_type(x)
    zero, one = literal_of(0.0, type), literal_of(1.0, type)
    least = s[0] * literal_of(relative_limit(x) if limit is None else limit, type)
    # NaN is not small.
    is_kept = (s > least) | (s != s)
    return stored(select(is_kept, one / select(is_kept, s, one), zero))


def relative_limit(x: Value) -> float:
    """Return the part of the largest singular value up to which others are rounding errors."""
    eps = np.finfo(np.float32 if real_type(x) == f32 else np.float64).eps
    return float(eps) * max(each.constant for each in shape_of(x)[-2:])
