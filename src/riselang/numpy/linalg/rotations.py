"""Plane rotations, and the rows of matrices to which they are applied."""

from __future__ import annotations

import numpy as np

from riselang.dialects.rise.types import ScalarType, f32, i64
from riselang.dsl import patterns
from riselang.dsl.arrays.shapes import literal_of, shape_of
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation
from riselang.numpy.linalg.householder import replaced, scalar_of, stored

SMALL = {f32: (2.0**-50, 2.0**60)}
"""The numbers whose squares may vanish, and a power of two that scales them; for f32 and f64."""
DEFAULT_SMALL = (2.0**-400, 2.0**500)


def epsilon(type: ScalarType) -> Value:
    """Return the largest relative error of an operation."""
    return literal_of(float(np.finfo(np.float32 if type == f32 else np.float64).eps) / 2, type)


def sqrt(x: Value) -> Value:
    return build_operation("sqrt", x)


def larger(x: Value, y: Value) -> Value:
    return build_operation("max", x, y)


def copy_sign(x: Value, sign: Value) -> Value:
    return build_operation("copysign", x, sign)


def rotation(f: Value, g: Value) -> tuple[Value, Value, Value]:
    """Return c, s and r with `c f + s g = r` and `c g = s f`."""
    type = scalar_of(f)
    small, factor = SMALL.get(type, DEFAULT_SMALL)
    one = literal_of(1.0, type)
    scale = select(larger(abs(f), abs(g)) < small, literal_of(factor, type), one)
    x, y = f * scale, g * scale
    r = sqrt(x * x + y * y)
    is_zero = r == 0
    divisor = select(is_zero, one, r)
    return select(is_zero, one, x / divisor), y / divisor, r / scale


def number(value: int) -> Value:
    return literal_of(value, i64)


def rotate_rows(rows: Value, first: Value, c: Value, s: Value) -> Value:
    """Replace rows x and y, which follow each other, by `c x + s y` and `c y - s x`."""
    n = shape_of(rows)[0]
    position = patterns.clamp_idx(n - 1, first)
    pair = patterns.slice_at(2, position, rows)
    both = stored(
        patterns.map(lambda x, y: (x * c + y * s, y * c - x * s), patterns.zip(pair[0], pair[1]))
    )
    lower = replaced(rows, first + 1, patterns.map(patterns.snd, both))
    return replaced(lower, first, patterns.map(patterns.fst, both))
