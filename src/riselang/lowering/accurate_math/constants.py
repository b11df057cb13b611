"""Constants with more bits than a float has, and coefficients of series."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

BITS = 1400
"""The bits after the point with which constants are computed: the largest float times 2 / pi needs
1152 and a few more."""


def _inverse_tangent(divisor: int) -> int:
    """Return the inverse tangent of 1 / divisor, times 2^BITS."""
    term = total = (1 << BITS) // divisor
    number = 1
    while term:
        term //= -divisor * divisor
        number += 2
        total += term // number
    return total


@cache
def pi() -> Fraction:
    return Fraction(4 * (4 * _inverse_tangent(5) - _inverse_tangent(239)), 1 << BITS)


@cache
def natural_logarithm_of_2() -> Fraction:
    total, term, number = 0, (2 << BITS) // 3, 1
    while term:
        total += term // number
        term //= 9
        number += 2
    return Fraction(total, 1 << BITS)


@cache
def natural_logarithm_of_10() -> Fraction:
    """Return 3 ln 2 + ln (5 / 4), where the latter is twice a series of 1 / 9."""
    total, term, number = 0, (2 << BITS) // 9, 1
    while term:
        total += term // number
        term //= 81
        number += 2
    return 3 * natural_logarithm_of_2() + Fraction(total, 1 << BITS)


def parts(value: Fraction, *bits: int) -> tuple[float, ...]:
    """Return numbers of some bits, and a last one, whose sum is a value."""
    found: list[float] = []
    for count in bits:
        exponent = _exponent(value)
        unit = Fraction(2) ** (exponent - count)
        found.append(float(int(value / unit) * unit))
        value -= Fraction(found[-1])
    return (*found, float(value))


def _exponent(value: Fraction) -> int:
    """Return the exponent of the power of 2 that is just above a positive value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent + 1 if value >= Fraction(2) ** exponent else exponent


def pair(value: Fraction) -> tuple[float, float]:
    """Return the nearest float of a value, and that of the rest."""
    return float(value), float(value - Fraction(float(value)))


EXP = tuple(1 / factorial(degree) for degree in range(2, 15))
"""(e^r - 1 - r) / r^2."""
SIN = tuple((-1) ** number / factorial(2 * number + 1) for number in range(1, 10))
"""(sin r - r) / r^3, as a series of r^2."""
COS = tuple((-1) ** number / factorial(2 * number) for number in range(2, 10))
"""(cos r - 1 + r^2 / 2) / r^4, as a series of r^2."""
ATAN = tuple((-1) ** number / (2 * number + 1) for number in range(1, 16))
"""(atan u - u) / u^3, as a series of u^2."""
LOG = tuple(2 / (2 * number + 1) for number in range(2, 15))
"""(log((1 + s) / (1 - s)) - 2 s - 2 s^3 / 3) / s^5, as a series of s^2."""
ERF = tuple((-1) ** number / (factorial(number) * (2 * number + 1)) for number in range(1, 21))
"""(erf x - 2 x / sqrt(pi)) / (2 x^3 / sqrt(pi)), as a series of x^2."""
