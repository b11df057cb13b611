"""Trigonometric functions and their inverses."""

from __future__ import annotations

import math
from fractions import Fraction

from xdsl.builder import Builder

from riselang.lowering.accurate_math.constants import ATAN, COS, SIN, pair, parts, pi
from riselang.lowering.accurate_math.exponentials import constant, nearest_integer
from riselang.lowering.accurate_math.large_angles import reduced_large_angle
from riselang.lowering.accurate_math.values import (
    Condition,
    Double,
    Integer,
    Pair,
    add,
    add_smaller,
    if_else,
)

LARGE_ANGLE = 2.0**20
"""Multiples of the parts of pi / 2 are exact up to this angle."""
HALF_PI = parts(pi() / 2, 32, 32)
"""The parts of pi / 2."""


def reduced_angle(x: Double) -> tuple[Pair, Integer]:
    """Return the rest of an angle after multiples of pi / 2, and their number modulo 4."""
    rest, quadrant = _reduced_small_angle(x)

    def large(builder: Builder) -> list[Double | Integer]:
        angle, count = reduced_large_angle(Double(builder, x.ssa))
        return [angle.high, angle.low, count]

    is_small = abs(x) < LARGE_ANGLE
    high, low, count = if_else(is_small, lambda _: [rest.high, rest.low, quadrant], large)
    return Pair(Double(x.builder, high), Double(x.builder, low)), Integer(x.builder, count)


def _reduced_small_angle(x: Double) -> tuple[Pair, Integer]:
    count, quadrant = nearest_integer(x * (2 / math.pi))
    first, second, third = HALF_PI
    rest = (-count).times_plus(first, x)
    total = add(rest, -(count * second))
    return add_smaller(total.high, (-count).times_plus(third, total.low)), quadrant


def _sin_near_0(x: Pair) -> Double:
    squared = x.high * x.high
    cubed = squared * x.high
    # The cosine of the angle is the derivative of the sine.
    rest = x.low.times_plus(squared.times_plus(-0.5, 1.0), cubed * squared.polynomial(SIN))
    return x.high + rest


def _cos_near_0(x: Pair) -> Double:
    squared = x.high * x.high
    half = squared * 0.5
    near = 1.0 - half
    rest = (1.0 - near) - half
    series = (squared * squared).times_plus(squared.polynomial(COS), -(x.high * x.low))
    return near + (rest + series)


def _sine(angle: Pair, quadrant: Integer) -> Double:
    is_odd = (quadrant & 1).equals(1)
    value = is_odd.select(_cos_near_0(angle), _sin_near_0(angle))
    return (quadrant & 2).equals(2).select(-value, value)


def sin(x: Double) -> Double:
    angle, quadrant = reduced_angle(x)
    return x.equals(0.0).select(x, _finite(x, _sine(angle, quadrant)))


def cos(x: Double) -> Double:
    angle, quadrant = reduced_angle(x)
    return _finite(x, _sine(angle, quadrant + 1))


def tan(x: Double) -> Double:
    angle, quadrant = reduced_angle(x)
    value = _sine(angle, quadrant) / _sine(angle, quadrant + 1)
    return x.equals(0.0).select(x, _finite(x, value))


def _finite(x: Double, value: Double) -> Double:
    """Return a value, or NaN if the angle is infinite or NaN."""
    return (abs(x) < math.inf).select(value, x - x)


def _atan_of_quotient(quotient: Pair) -> Pair:
    """Return the inverse tangent of a number between 0 and 1, in which a multiple of 1/2 is
    subtracted first: atan t = atan c + atan((t - c) / (1 + c t))."""
    t = quotient.high
    is_low, is_middle = t < 0.25, t < 0.75
    center = is_low.select(t.float(0.0), is_middle.select(t.float(0.5), t.float(1.0)))
    divisor = center * t + 1.0
    near = Pair(t - center, quotient.low).over(
        Pair(divisor, center.times_plus(quotient.low, center.times_plus(t, 1.0 - divisor)))
    )
    squared = near.high * near.high
    series = near.high * squared * squared.polynomial(ATAN)
    first = _selected(is_low, is_middle, t)
    total = add_smaller(first.high, near.high)
    usual = Pair(total.high, total.low + (first.low + (near.low + series)))
    small = Pair(near.high, near.low + series)
    return Pair(is_low.select(small.high, usual.high), is_low.select(small.low, usual.low))


INVERSE_TANGENT_OF_HALF = sum(
    (Fraction((-1) ** number, (2 * number + 1) * 2 ** (2 * number + 1)) for number in range(70)),
    Fraction(0),
)


def _selected(is_low: Condition, is_middle: Condition, like: Double) -> Pair:
    """Return the inverse tangent of the number that is subtracted."""
    middle, high = pair(INVERSE_TANGENT_OF_HALF), pair(pi() / 4)
    return Pair(*(
        is_middle.select(like.float(first), like.float(second))
        for first, second in zip(middle, high, strict=True)
    ))  # fmt: skip


def atan(x: Double) -> Double:
    size = abs(x)
    usual = size.clamp(0.0, 1e300)
    value = _angle(usual, x.float(1.0), x.float(0.0).is_negative())
    value = (size < 2.0**-30).select(size, value)
    return x.is_nan().select(x, value.with_sign_of(x))


def atan2(y: Double, x: Double) -> Double:
    height, width = abs(y), abs(x)
    are_infinite = height.equals(math.inf) & width.equals(math.inf)
    # Of two infinite numbers, or two zeros, only the signs count.
    height = are_infinite.select(x.float(1.0), height)
    width = are_infinite.select(x.float(1.0), width)
    is_flat = width.equals(math.inf) | height.equals(0.0)
    is_steep = height.equals(math.inf)
    usual_height = is_steep.select(x.float(1.0), is_flat.select(x.float(0.0), height))
    usual_width = is_steep.select(x.float(0.0), is_flat.select(x.float(1.0), width))
    value = _angle(usual_height, usual_width, x.is_negative())
    value = value.with_sign_of(y)
    return (x.is_nan() | y.is_nan()).select(x + y, value)


def _angle(height: Double, width: Double, is_left: Condition) -> Double:
    """Return the angle of a point, or of its reflection if it is on the left."""
    is_steep = height > width
    larger, smaller = is_steep.select(height, width), is_steep.select(width, height)
    is_large, is_tiny = larger > 1e150, larger < 1e-150
    one = height.float(1.0)
    factor = is_large.select(height.float(2.0**-600), is_tiny.select(height.float(2.0**600), one))
    zero = height.float(0.0)
    dividend = smaller * factor
    quotient = Pair(dividend, zero).over(Pair(larger * factor, zero))
    angle = _atan_of_quotient(quotient)
    half, whole = (constant(height, pair(pi() / part)) for part in (2, 1))
    steep = half.plus(_negated(angle, ~is_left))
    flat = whole.plus(-angle).rounded()
    right = (smaller < larger * 2.0**-960).select(smaller / larger, angle.rounded())
    return is_steep.select(steep.rounded(), is_left.select(flat, right))


def _negated(angle: Pair, condition: Condition) -> Pair:
    return Pair(condition.select(-angle.high, angle.high), condition.select(-angle.low, angle.low))


def asin(x: Double) -> Double:
    size = abs(x)
    angle = _angle(size, ((1.0 - size) * (size + 1.0)).sqrt(), size.float(0.0).is_negative())
    value = (size < 2.0**-30).select(size, angle).with_sign_of(x)
    return (size > 1.0).select(x.float(math.nan), value)


def acos(x: Double) -> Double:
    """Return 2 atan(sqrt((1 - x) / (1 + x)))."""
    is_right = x.float(0.0).is_negative()
    angle = _angle((1.0 - x).sqrt(), (x + 1.0).sqrt(), is_right)
    return (abs(x) > 1.0).select(x.float(math.nan), angle * 2.0)
