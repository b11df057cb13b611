"""Reduction of large angles: the fraction of an angle times 2 / pi, by integers of 192 bits."""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects import arith

from riselang.lowering.accurate_math.constants import BITS, pair, pi
from riselang.lowering.accurate_math.values import (
    BIAS,
    FRACTION,
    Double,
    Integer,
    Pair,
    add,
    add_smaller,
)

WORD = 64
WORDS = BITS // WORD


def two_over_pi() -> list[int]:
    """Return the bits of 2 / pi after the point, 64 at a time."""
    bits = int(2 / pi() * (1 << WORD * WORDS))
    return [bits >> WORD * (WORDS - 1 - number) & (1 << WORD) - 1 for number in range(WORDS)]


def reduced_large_angle(x: Double) -> tuple[Pair, Integer]:
    """Return the rest of an angle of at least 1 after multiples of pi / 2, and their number modulo
    4.

    The mantissa is multiplied by the 192 bits of 2 / pi that matter: products with the bits before
    them are multiples of 4, and those with the bits after them are too small.
    """
    bits = abs(x).bits()
    mantissa = (bits & (1 << FRACTION) - 1) | 1 << FRACTION
    exponent = bits.shift_right_unsigned(FRACTION) - (BIAS + FRACTION)
    # The first bit that matters has the weight 2 when it is multiplied by the exponent's power.
    first = exponent - 2
    is_before = first < 0
    start = is_before.select(x.integer(0), first)
    window = _window(start)
    shift = is_before.select(x.integer(0) - first, x.integer(0))
    window = _shifted_right(window, shift)
    high, middle = _product(mantissa, window)
    quadrant = high.shift_right_unsigned(WORD - 2)
    fraction = (high << 2) | middle.shift_right_unsigned(WORD - 2)
    # More than a half is less than the next multiple.
    is_large = fraction < 0
    quadrant = quadrant + is_large.select(x.integer(1), x.integer(0))
    angle = _scaled_fraction(fraction, middle << 2).times(
        Pair(*(x.float(each) for each in pair(pi() / 2)))
    )
    is_negative = x.is_negative()
    quadrant = is_negative.select(x.integer(0) - quadrant, quadrant)
    return Pair(
        is_negative.select(-angle.high, angle.high), is_negative.select(-angle.low, angle.low)
    ), quadrant


def _window(start: Integer) -> list[Integer]:
    """Return three words of 2 / pi that start at a bit."""
    number, shift = start.shift_right_unsigned(6), start & WORD - 1
    words = [start.integer(each) for each in two_over_pi()]
    found = words[:4]
    for first in range(1, WORDS - 3):
        is_here = number.equals(first)
        found = [
            is_here.select(word, other)
            for word, other in zip(words[first : first + 4], found, strict=True)
        ]
    # A shift by all bits of a word is not defined.
    rest = start.integer(WORD - 1) - shift
    return [
        (word << shift) | (following.shift_right_unsigned(1)).shift_right_unsigned(rest)
        for word, following in pairwise(found)
    ]


def _shifted_right(words: list[Integer], shift: Integer) -> list[Integer]:
    """Shift words by less than 64 bits."""
    rest = shift.integer(WORD - 1) - shift
    first, *others = [each.shift_right_unsigned(shift) for each in words]
    carried = [(each << 1) << rest for each in words[:-1]]
    return [first, *(each | carry for each, carry in zip(others, carried, strict=True))]


def _product(factor: Integer, words: list[Integer]) -> tuple[Integer, Integer]:
    """Return the first two words of a product modulo 2^192."""
    first, second, third = words
    low, high = _multiply(factor, second)
    _, carry = _multiply(factor, third)
    middle = low + carry
    overflow = middle.less_unsigned(low).select(factor.integer(1), factor.integer(0))
    return factor * first + high + overflow, middle


def _multiply(a: Integer, b: Integer) -> tuple[Integer, Integer]:
    """Return the low and the high word of a product."""
    op = a.builder.insert(arith.MulUIExtendedOp(a.ssa, b.ssa))
    return Integer(a.builder, op.results[0]), Integer(a.builder, op.results[1])


def _scaled_fraction(high: Integer, low: Integer) -> Pair:
    """Return a signed number of 128 bits times 2^-64, as a fraction of the multiple of pi / 2."""
    half, mask = WORD // 2, (1 << WORD // 2) - 1
    pieces = (
        high >> half, high & mask, low.shift_right_unsigned(half), low & mask,
    )  # fmt: skip
    first, second, third, fourth = (
        piece.to_float() * 2.0 ** (-half * number) for number, piece in enumerate(pieces, 1)
    )
    total = add(first, second)
    rest = add_smaller(third, fourth)
    total = add_smaller(total.high, total.low + rest.high)
    return add_smaller(total.high, total.low + rest.low)
