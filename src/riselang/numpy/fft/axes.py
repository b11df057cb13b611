"""Fourier transforms along one axis of an array: complex, real, and their derivatives."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.types import bf16, f16, f32, f64
from riselang.dsl import patterns
from riselang.dsl.arrays.layout import flatten_last, move_axis, reshape_to
from riselang.dsl.arrays.shapes import (
    Shape,
    as_array,
    element_type,
    literal_of,
    map_at,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.linear_calls import apply_linear
from riselang.dsl.prelude import complex
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, convert
from riselang.numpy.fft import plans
from riselang.numpy.fft.transforms import (
    Transform,
    complex_table,
    part_type,
    stored,
    transform_array,
    transform_columns,
)
from riselang.numpy.promotion import as_value, result_type


def as_complex(name: str, x: Any) -> Value:
    """Return an array of complex numbers; integers and f64 become complex128."""
    x = as_array(name, x)
    type = result_type(x)
    if type.is_complex:
        return x
    x = as_floats(name, x)
    return complex(x, literal_of(0.0, element_type(x)))


def as_floats(name: str, x: Any) -> Value:
    """Return an array of f32 or f64."""
    x = as_array(name, x)
    type = result_type(x)
    if type.is_complex:
        refuse(f"{name} transforms real numbers, but these are complex; use x.real, or rl.fft.fft")
    if type in (f32, f64):
        return as_value(x)
    return convert(x, f32 if type in (f16, bf16) else f64)


def resize(x: Value, axis: int, length: int) -> Value:
    """Drop the last elements along an axis, or append zeros."""
    own = shape_of(x)[axis].constant
    if own == length:
        return x
    if own > length:
        return map_at(axis, patterns.take(length), x)
    return map_at(axis, lambda part: _extend(part, length - own), x)


def _extend(part: Value, count: int) -> Value:
    zeros = literal_of(0, element_type(part))
    for each in reversed(shape_of(part)[1:]):
        zeros = patterns.generate(lambda _, inner=zeros: inner, n=each)
    return patterns.pad_const(0, count, zeros, part)


def transform_axis(transform: Transform, x: Value, axis: int) -> Value:
    """Transform complex numbers along an axis."""
    transpose = Transform(transform.length, -transform.sign, transform.scale)
    return apply_linear(
        lambda x: _transform_axis(transform, x, axis),
        lambda y: _transform_axis(transpose, y, axis),
        stored(x),
    )


def _transform_axis(transform: Transform, x: Value, axis: int) -> Value:
    shape = shape_of(x)
    if transform.length == 1:
        return x if transform.scale == 1.0 else x * transform.scale
    after = shape[axis + 1 :]
    if not after:
        return map_at(axis, lambda row: transform_array(transform, row), x)
    if any(each == 0 for each in shape):
        return x
    wide = flatten_last(x, len(after)) if len(after) > 1 else x
    found = map_at(axis, lambda matrix: transform_columns(transform, matrix), wide)
    return reshape_to(found, shape)


def transform_real(transform: Transform, x: Value, axis: int) -> Value:
    """Return the first `length // 2 + 1` elements of the transform of floats."""
    return apply_linear(
        lambda x: _on_last_axis(lambda row: _real_row(transform, row), x, axis),
        lambda y: _on_last_axis(lambda row: _transposed_real_row(transform, row), y, axis),
        stored(x),
    )


def transform_to_real(transform: Transform, x: Value, axis: int) -> Value:
    """Return the transform, which is real, of numbers of which the first half is given."""
    return apply_linear(
        lambda x: _on_last_axis(lambda row: _to_real_row(transform, row), x, axis),
        lambda y: _on_last_axis(lambda row: _transposed_to_real_row(transform, row), y, axis),
        stored(x),
    )


def _on_last_axis(function: Any, x: Value, axis: int) -> Value:
    last = rank_of(x) - 1
    return move_axis(map_at(last, function, move_axis(x, axis, last)), last, axis)


def _real_row(transform: Transform, x: Value) -> Value:
    n, sign = transform.length, transform.sign
    if n % 2:
        whole = transform_array(transform, complex(x, 0.0))
        return patterns.take(n // 2 + 1, stored(whole))
    pairs = patterns.map(lambda pair: complex(pair[0], pair[1]), patterns.split(2, x))
    half = _half_transform(transform, pairs)
    ends = stored(patterns.concat(half, patterns.take(1, half)))
    turns = complex_table(plans.half_turns(n, sign, part_type(half)))

    def combine(z: Value, mirrored: Value, turn: Value) -> Value:
        other = mirrored.conj()
        return ((z + other) - (z - other) * turn) * 0.5

    return patterns.map(combine, patterns.zip(ends, patterns.zip(patterns.reverse(ends), turns)))


def _half_transform(transform: Transform, x: Value) -> Value:
    half = transform.with_length(transform.length // 2, transform.scale)
    x = stored(x)
    if half.length == 1:
        return x if half.scale == 1.0 else x * half.scale
    return stored(transform_array(half, x))


def _to_real_row(transform: Transform, x: Value) -> Value:
    n, sign = transform.length, transform.sign
    count = n // 2 + 1
    if n % 2:
        first = patterns.map(lambda z: complex(z.real, 0.0), patterns.take(1, x))
        rest = patterns.drop(1, x) if count > 1 else None
        if rest is None:
            return patterns.map(lambda z: z.real * transform.scale, first)
        mirrored = patterns.map(lambda z: z.conj(), patterns.reverse(rest))
        whole = patterns.concat(first, patterns.concat(rest, mirrored))
        found = transform_array(transform, stored(whole))
        return patterns.map(lambda z: z.real, found)
    inside = Value(as_node(plans.is_inside(count)))
    # The first and the last elements of the transform of real numbers are real.
    zero = literal_of(0.0, x.dtype.part)
    known = stored(complex(x.real, select(inside, x.imag, zero)))
    turns = complex_table(plans.half_turns(n, sign, part_type(x)))
    pairs = patterns.zip(known, patterns.zip(patterns.reverse(known), turns))

    def separate(z: Value, mirrored: Value, turn: Value) -> Value:
        other = mirrored.conj()
        return (z + other) + (z - other) * turn

    found = _half_transform(transform, patterns.take(n // 2, patterns.map(separate, pairs)))
    return patterns.join(patterns.map(lambda z: patterns.concat(_one(z.real), _one(z.imag)), found))


def _one(x: Value) -> Value:
    return patterns.generate(lambda _: x, n=1)


def _weighted(n: int, x: Value, factor: float) -> Value:
    """Multiply the elements of half of a transform that stand for two by a factor."""
    inside = plans.inner_factors(n, factor, part_type(x))
    return x * Value(as_node(inside))


def _transposed_real_row(transform: Transform, y: Value) -> Value:
    opposite = Transform(transform.length, -transform.sign, transform.scale)
    return _to_real_row(opposite, _weighted(transform.length, y, 0.5))


def _transposed_to_real_row(transform: Transform, y: Value) -> Value:
    opposite = Transform(transform.length, -transform.sign, transform.scale)
    return _weighted(transform.length, _real_row(opposite, y), 2.0)


def known_length(name: str, shape: Shape, axis: int) -> int:
    if not shape[axis].is_constant:
        refuse(f"{name}: the length of axis {axis} must be known, but is {shape[axis]}")
    return shape[axis].constant
