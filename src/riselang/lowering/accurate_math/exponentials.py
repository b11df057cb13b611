"""Exponential functions, logarithms, powers and hyperbolic functions."""

from __future__ import annotations

import math
from fractions import Fraction

from riselang.lowering.accurate_math.constants import (
    EXP,
    LOG,
    natural_logarithm_of_2,
    natural_logarithm_of_10,
    pair,
    parts,
)
from riselang.lowering.accurate_math.values import (
    FRACTION,
    Condition,
    Double,
    Integer,
    Pair,
    add,
    add_smaller,
    multiply,
)

LN_2, LN_2_REST = parts(natural_logarithm_of_2(), 42)
"""The first part has so few bits that its multiples are exact."""
ROUNDING_OFFSET = 1.5 * 2**FRACTION
"""Adding it rounds a number to an integer: no bits are left for the fraction."""
SMALLEST_EXP, LARGEST_EXP = -760.0, 720.0
"""Below, the result is zero; above, it is infinite."""
SMALLEST_EXPM1, LARGEST_ATANH = -50.0, 22.0


def constant(like: Double, value: tuple[float, float]) -> Pair:
    return Pair(like.float(value[0]), like.float(value[1]))


def nearest_integer(x: Double) -> tuple[Double, Integer]:
    shifted = x + ROUNDING_OFFSET
    count = shifted.bits() - shifted.float(ROUNDING_OFFSET).bits()
    return shifted - ROUNDING_OFFSET, count


def scaled(value: Double, power: Integer) -> Double:
    """Multiply by a power of 2: in two steps, since the power alone may overflow or underflow."""
    half = power >> 1
    return value * half.power_of_2() * (power - half).power_of_2()


def exp_minus_1_near_0(x: Pair) -> Double:
    """Return e^x - 1 for an x of at most ln 2 / 2."""
    squared = x.high * x.high
    series = squared.times_plus(x.high.polynomial(EXP), x.low.times_plus(x.high, x.low))
    return x.high + series


def reduced(x: Pair) -> tuple[Pair, Integer]:
    """Return the rest of an exponent after multiples of ln 2, and their number."""
    count, power = nearest_integer(x.high * (1 / math.log(2)))
    rest = (-count).times_plus(LN_2, x.high)
    return add_smaller(rest, (-count).times_plus(LN_2_REST, x.low)), power


def exp_of_pair(x: Pair) -> Double:
    near = x.high.clamp(SMALLEST_EXP, LARGEST_EXP)
    is_near = near.equals(x.high)
    rest, power = reduced(Pair(near, is_near.select(x.low, x.low.float(0.0))))
    return scaled(exp_minus_1_near_0(rest) + 1.0, power)


def exp(x: Double) -> Double:
    return exp_of_pair(Pair(x, x.float(0.0)))


def exp2(x: Double) -> Double:
    near = x.clamp(-1100.0, 1100.0)
    count, power = nearest_integer(near)
    rest = near - count
    exponent = constant(x, pair(natural_logarithm_of_2())).times(Pair(rest, x.float(0.0)))
    return scaled(exp_minus_1_near_0(exponent) + 1.0, power)


def expm1(x: Double) -> Double:
    near = x.clamp(SMALLEST_EXPM1, LARGEST_EXP)
    rest, power = reduced(Pair(near, x.float(0.0)))
    # 2^n (1 + p) - 1 = 2^n ((1 - 2^-n) + p); the power is too small to be a normal float, or zero.
    is_large = x.integer(1000) < power
    inverse = is_large.select(x.float(0.0), (x.integer(0) - power).power_of_2())
    value = scaled((1.0 - inverse) + exp_minus_1_near_0(rest), power)
    return x.equals(0.0).select(x, value)


def log_of_pair(x: Pair) -> Pair:
    """Return the logarithm of a positive number, which is finite."""
    is_tiny = x.high < 2.0**-1022
    high = is_tiny.select(x.high * 2.0**54, x.high)
    # The exponent counts from the square root of a half, so that the mantissa is around 1.
    power = (high.bits() - x.high.float(math.sqrt(0.5)).bits()) >> FRACTION
    mantissa = (high.bits() - (power << FRACTION)).as_float()
    low = x.low * (x.high.integer(0) - power).power_of_2()
    exponent = power.to_float() - is_tiny.select(x.high.float(54.0), x.high.float(0.0))
    # log m = 2 atanh((m - 1) / (m + 1))
    difference = add_smaller(mantissa - 1.0, low)
    difference = add(difference.high, difference.low)
    total = add(mantissa, 1.0)
    quotient = difference.over(Pair(total.high, total.low + low))
    logarithm = _twice_inverse_tanh(quotient)
    multiple = Pair(exponent * LN_2, exponent * LN_2_REST)
    return multiple.plus(logarithm)


def _twice_inverse_tanh(s: Pair) -> Pair:
    """Return 2 s + 2 s^3 / 3 + ..., for an s of at most 0.18."""
    squared = s.times(s)
    tail = multiply(squared.high, squared.high.polynomial(LOG))
    third = constant(s.high, pair(Fraction(2, 3))).plus(tail)
    cubed = squared.times(s)
    return Pair(s.high * 2.0, s.low * 2.0).plus(cubed.times(third))


def with_limits_of_log(x: Double, value: Double, pole: float) -> Double:
    """Return the logarithm of infinity, of a number at its pole and of those below, or a value."""
    value = (x < math.inf).select(value, x)
    value = x.equals(pole).select(x.float(-math.inf), value)
    return (x < pole).select(x.float(math.nan), value)


def log(x: Double) -> Double:
    return with_limits_of_log(x, log_of_pair(Pair(x, x.float(0.0))).rounded(), 0.0)


def log2(x: Double) -> Double:
    return _log_by(x, pair(1 / natural_logarithm_of_2()))


def log10(x: Double) -> Double:
    return _log_by(x, pair(1 / natural_logarithm_of_10()))


def _log_by(x: Double, factor: tuple[float, float]) -> Double:
    logarithm = log_of_pair(Pair(x, x.float(0.0))).times(constant(x, factor))
    return with_limits_of_log(x, logarithm.rounded(), 0.0)


def log1p(x: Double) -> Double:
    value = with_limits_of_log(x, log_of_pair(add(x, 1.0)).rounded(), -1.0)
    return x.equals(0.0).select(x, value)


def powf(x: Double, y: Double) -> Double:
    """Return x^y, with the results of C for zeros, infinities and NaN."""
    size = abs(x)
    is_finite = size < math.inf
    is_positive = size > 0.0
    usual = (is_finite & is_positive).select(size, x.float(1.0))
    limited = y.clamp(-1e300, 1e300)
    exponent = log_of_pair(Pair(usual, x.float(0.0)))
    product = multiply(exponent.high, limited)
    low = exponent.low.times_plus(limited, product.low)
    is_exact = abs(product.high) < 1e6
    value = exp_of_pair(Pair(product.high, is_exact.select(low, x.float(0.0))))
    # Zero and infinity, to a positive or to a negative power.
    grows = (size > 1.0) & (y > 0.0) | (size < 1.0) & (y < 0.0)
    extreme = grows.select(x.float(math.inf), x.float(0.0))
    is_infinite = abs(y).equals(math.inf)
    value = (is_finite & is_positive & ~is_infinite).select(value, extreme)
    value = (is_infinite & size.equals(1.0)).select(x.float(1.0), value)
    value = _with_sign_of_base(value, x, y)
    value = (x.is_nan() | y.is_nan()).select(x + y, value)
    return (y.equals(0.0) | x.equals(1.0)).select(x.float(1.0), value)


def _with_sign_of_base(value: Double, x: Double, y: Double) -> Double:
    """Return the power of |x| with the sign of that of x: NaN for a fraction of a negative one."""
    is_integer, is_odd = _parity(y)
    is_negative = x.is_negative()
    value = (is_negative & is_odd).select(-value, value)
    is_defined = is_integer | x.equals(0.0) | abs(x).equals(math.inf) | abs(y).equals(math.inf)
    return (is_negative & ~is_defined).select(x.float(math.nan), value)


def _parity(y: Double) -> tuple[Condition, Condition]:
    """Return whether a finite number is an integer, and whether it is an odd one."""
    size = abs(y)
    is_small = size < 2.0**53
    small = is_small.select(size, y.float(0.0))
    is_integer = (small + 2.0**52 - 2.0**52).equals(small) | (small + 0.0 > 2.0**52)
    half = small * 0.5
    floor = half + 2.0**52 - 2.0**52
    is_odd = is_integer & ~floor.equals(half)
    return is_integer | ~is_small, is_odd & is_small


def cbrt(x: Double) -> Double:
    size = abs(x)
    is_usual = (size < math.inf) & (size > 0.0)
    logarithm = log_of_pair(Pair(is_usual.select(size, x.float(1.0)), x.float(0.0)))
    third = logarithm.times(constant(x, pair(Fraction(1, 3))))
    return is_usual.select(exp_of_pair(third).with_sign_of(x), x)


def sinh(x: Double) -> Double:
    size = abs(x)
    less = expm1(size.clamp(0.0, 40.0))
    small = (less + less / (less + 1.0)) * 0.5
    value = (size < 40.0).select(small, _half_exp(size))
    return x.is_nan().select(x, value.with_sign_of(x))


def cosh(x: Double) -> Double:
    size = abs(x)
    power = exp(size.clamp(0.0, 40.0))
    small = power * 0.5 + 0.5 / power
    return x.is_nan().select(x, (size < 40.0).select(small, _half_exp(size)))


def _half_exp(x: Double) -> Double:
    """Return e^x / 2, which may be finite although e^x is not."""
    rest, power = reduced(Pair(x.clamp(0.0, LARGEST_EXP), x.float(0.0)))
    return scaled(exp_minus_1_near_0(rest) + 1.0, power - 1)


def tanh(x: Double) -> Double:
    size = abs(x).clamp(0.0, LARGEST_ATANH)
    less = expm1(size * 2.0)
    value = less / (less + 2.0)
    return x.is_nan().select(x, value.with_sign_of(x))
