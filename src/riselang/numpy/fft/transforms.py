"""Fourier transforms of complex arrays, composed of patterns.

Long transforms take four steps: the elements are the rows of a matrix, whose columns are
transformed; the result is multiplied by roots of unity and transposed; then its columns are
transformed. Columns are transformed by Stockham's method, with loops along contiguous rows, and in
blocks that stay in a cache. Prime lengths become cyclic convolutions (Bluestein).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.dialects.rise.types import f32
from riselang.dsl import patterns
from riselang.dsl.arrays.layout import reshape_to, stack
from riselang.dsl.arrays.shapes import element_type, literal_of, shape_of
from riselang.dsl.prelude import complex
from riselang.dsl.symbolic_values import Value, as_node
from riselang.nat import Nat
from riselang.numpy.fft import plans
from riselang.numpy.fft.codelets import transform_few
from riselang.term.build import is_view_node


@dataclass(frozen=True)
class Transform:
    """A transform of a length: `scale * sum(x[j] * exp(sign * 2 pi i j k / length))`."""

    length: int
    sign: int
    scale: float = 1.0

    def with_length(self, length: int, scale: float = 1.0) -> Transform:
        return Transform(length, self.sign, scale)


def transform_array(transform: Transform, x: Value) -> Value:
    """Transform an array of one dimension."""
    n = transform.length
    if n <= plans.MAX_CODELET and plans.is_smooth(n):
        return stack(_scaled(transform, transform_few([x[k] for k in range(n)], transform.sign)))
    if not plans.is_smooth(n):
        if plans.largest_prime(n) * plans.MIN_BLOCK > n:
            return _convolve(transform, x)
        rows, columns = plans.largest_prime(n), n // plans.largest_prime(n)
    else:
        rows, columns = plans.split_length(n)
    first, second = transform.with_length(rows), transform.with_length(columns, transform.scale)
    turns = complex_table(plans.twiddles(rows, columns, n, transform.sign, part_type(x)))
    matrix = _reshaped(x, rows, columns)
    turned = _in_blocks(_first_step(first), patterns.map(patterns.zip, patterns.zip(matrix, turns)))
    return patterns.join(transform_columns(second, stored(turned)))


def _first_step(transform: Transform) -> Any:
    """Return the function that transforms columns and turns the results, in transposed order."""

    def step(rows: Value) -> Value:
        xs = patterns.map(lambda row: patterns.map(patterns.fst, row), rows)
        turns = patterns.map(lambda row: patterns.map(patterns.snd, row), rows)
        found = stored(_columns(transform, patterns.to_mem("heap", xs)))
        return patterns.transpose(found * turns)

    return step


def _in_blocks(step: Any, matrix: Value) -> Value:
    """Apply a function from columns to rows to blocks of columns, and join the rows."""
    rows, columns = (each.constant for each in shape_of(matrix))
    length = plans.block_length(rows, columns)
    if length == columns:
        return step(matrix)
    blocks = patterns.transpose(patterns.map(patterns.split(length), matrix))
    return patterns.join(patterns.map(step, blocks))


def transform_columns(transform: Transform, matrix: Value) -> Value:
    """Transform the columns of a matrix."""
    rows, columns = (each.constant for each in shape_of(matrix))
    length = plans.block_length(rows, columns)
    if length == columns:
        return _columns(transform, matrix)
    blocks = patterns.transpose(patterns.map(patterns.split(length), matrix))

    def step(block: Value) -> Value:
        return _columns(transform, patterns.to_mem("heap", block))

    return patterns.map(patterns.join, patterns.transpose(patterns.map(step, blocks)))


def _columns(transform: Transform, matrix: Value) -> Value:
    if not plans.is_smooth(transform.length):
        return _convolve_columns(transform, matrix)
    rows, columns = (each.constant for each in shape_of(matrix))
    flat, length, stride = patterns.join(matrix), rows, columns
    radices = plans.radices(rows)
    for position, radix in enumerate(radices):
        length //= radix
        is_last = position == len(radices) - 1
        own = transform.with_length(radix, transform.scale if is_last else 1.0)
        flat = _stage(own, length, stride, flat)
        if not is_last:
            flat = stored(flat)
        stride *= radix
    return patterns.split(columns, flat)


def _stage(transform: Transform, length: int, stride: int, flat: Value) -> Value:
    """Combine the elements at distances of `length * stride`, as a step of Stockham's method."""
    radix, sign = transform.length, transform.sign
    groups = patterns.transpose(patterns.split(length, patterns.split(stride, flat)))

    def combine(group: Value, turns: list[Value]) -> Value:
        def column(xs: Value) -> Value:
            found = transform_few([xs[k] for k in range(radix)], sign)
            turned = [y * turn for y, turn in zip(found[1:], turns, strict=False)]
            return stack(_scaled(transform, [found[0], *turned] if turns else found))

        return patterns.transpose(patterns.map(column, patterns.transpose(group)))

    if length == 1:
        return patterns.join(patterns.join(patterns.map(lambda each: combine(each, []), groups)))
    table = plans.twiddles(length, radix, length * radix, sign, part_type(flat))
    turns = complex_table(table)
    found = patterns.map(
        lambda group, row: combine(group, [row[k] for k in range(1, radix)]),
        patterns.zip(groups, turns),
    )
    return patterns.join(patterns.join(found))


def _scaled(transform: Transform, values: list[Value]) -> list[Value]:
    if transform.scale == 1.0:
        return values
    return [each * transform.scale for each in values]


def _convolve(transform: Transform, x: Value) -> Value:
    """Transform an array by Bluestein's method: its product with a chirp is convolved with the
    conjugate chirp."""
    n, sign, part = transform.length, transform.sign, part_type(x)
    length = plans.convolution_length(n)
    turns = complex_table(plans.chirp(n, sign, part))
    spectrum = complex_table(plans.chirp_spectrum(n, length, sign, part))
    extended = _padded(length, x * turns)
    product = stored(transform_array(Transform(length, -1), extended)) * spectrum
    back = transform_array(Transform(length, 1), stored(product))
    found = patterns.take(n, stored(back)) * turns
    return found if transform.scale == 1.0 else found * transform.scale


def _convolve_columns(transform: Transform, matrix: Value) -> Value:
    """Transform columns by Bluestein's method."""
    n, sign, part = transform.length, transform.sign, part_type(matrix)
    length = plans.convolution_length(n)
    turns = complex_table(plans.chirp(n, sign, part))[:, None]
    spectrum = complex_table(plans.chirp_spectrum(n, length, sign, part))[:, None]
    extended = patterns.transpose(
        patterns.map(lambda column: _padded(length, column), patterns.transpose(matrix * turns))
    )
    product = stored(_columns(Transform(length, -1), extended)) * spectrum
    back = _columns(Transform(length, 1), stored(product))
    found = patterns.take(n, stored(back)) * turns
    return found if transform.scale == 1.0 else found * transform.scale


def _padded(length: int, x: Value) -> Value:
    zero = literal_of(0, element_type(x))
    rest = length - shape_of(x)[0].constant
    return stored(patterns.pad_const(0, rest, zero, x))


def stored(x: Value) -> Value:
    """Return a value that is read often in memory, unless reading it is free."""
    return x if is_view_node(x.node) else patterns.to_mem("heap", x)


def part_type(x: Value) -> np.dtype[Any]:
    """Return the NumPy type of the parts of complex numbers."""
    type: Any = element_type(x)
    return np.dtype(np.float32 if type.part == f32 else np.float64)


def complex_table(parts: plans.Tables) -> Value:
    """Return complex constants from the arrays of their parts."""
    real, imaginary = (Value(as_node(each)) for each in parts)
    return complex(real, imaginary)


def _reshaped(x: Value, *lengths: int) -> Value:
    return reshape_to(x, tuple(map(Nat.const, lengths)))
