"""How a Fourier transform is divided into shorter ones, and the constants that this needs."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np

from riselang.numpy.fft.codelets import MAX_PRIME, prime_factors

Table = np.ndarray[Any, Any]
Tables = tuple[Table, Table]
"""The real and the imaginary parts of complex constants."""
MAX_CODELET = 16
MIN_BLOCK, MAX_BLOCK = 8, 64
"""The number of columns that are transformed together, while they stay in a cache."""
BLOCKED_ELEMENTS = 1 << 11
"""The number of elements from which columns are transformed in blocks."""
POWERS = {1: [2], 2: [4], 4: [16]}


def is_smooth(n: int) -> bool:
    """Whether all prime factors of a length are those of codelets."""
    return all(each <= MAX_PRIME for each in prime_factors(n))


def radices(n: int) -> list[int]:
    """Return the lengths of the codelets whose product is `n`."""
    factors = prime_factors(n)
    odd = [each for each in factors if each > 2]
    threes = odd.count(3)
    found = [9] * (threes // 2) + [3] * (threes % 2) + [each for each in odd if each > 3]
    twos = len(factors) - len(odd)
    return [*_powers_of_two(twos), *found]


def _powers_of_two(count: int) -> list[int]:
    if count < 3 or count == 4:
        return POWERS.get(count, [])
    last = {0: [], 1: [16], 2: [4]}[count % 3]
    return [*last, *[8] * ((count - (4 if count % 3 == 1 else count % 3)) // 3)]


@lru_cache(maxsize=256)
def split_length(n: int) -> tuple[int, int]:
    """Return two factors of a length: that of the columns, and their number.

    The factors are close to each other, and both multiples of as large a power of two as possible.
    """

    def cost(rows: int) -> tuple[float, int]:
        columns = n // rows
        ratio = max(rows, columns) / min(rows, columns)
        full = sum(each % 16 == 0 for each in (rows, columns))
        return ratio * (4 if full == 0 else 2 if full == 1 else 1), -columns

    divisors = {d for d in range(1, isqrt(n) + 1) if n % d == 0}
    divisors |= {n // d for d in divisors}
    rows = min((d for d in divisors if 1 < d < n), key=cost)
    return rows, n // rows


def largest_prime(n: int) -> int:
    return prime_factors(n)[-1]


def block_length(rows: int, columns: int) -> int:
    """Return how many columns are transformed together; all of them if they are few."""
    if rows * columns <= BLOCKED_ELEMENTS:
        return columns
    divisors = [d for d in range(MIN_BLOCK, MAX_BLOCK + 1) if columns % d == 0]
    return min(divisors, key=lambda d: (d % 16 != 0, d % 8 != 0, d), default=columns)


@lru_cache(maxsize=256)
def convolution_length(n: int) -> int:
    """Return a length of at least `2 n - 1` whose transform is fast."""
    least = 2 * n - 1
    candidates: list[int] = []
    for odd in (1, 3, 5, 9, 15):
        power = 1
        while odd * power < least:
            power *= 2
        # Both factors of a long transform should be multiples of 16.
        if odd == 1 or power >= 256:
            candidates.append(odd * power)
    return min(candidates)


def _parts(numbers: Table, dtype: np.dtype[Any]) -> Tables:
    return numbers.real.astype(dtype), numbers.imag.astype(dtype)


def roots_of_unity(exponents: Table, n: int, sign: int) -> Table:
    angles = exponents % n * (2 * np.pi / n)
    return np.cos(angles) + 1j * sign * np.sin(angles)


@lru_cache(maxsize=64)
def twiddles(rows: int, columns: int, n: int, sign: int, dtype: np.dtype[Any]) -> Tables:
    """Return `exp(sign * 2 pi i j k / n)` for each row j and column k."""
    return _parts(roots_of_unity(np.outer(np.arange(rows), np.arange(columns)), n, sign), dtype)


@lru_cache(maxsize=16)
def chirp(n: int, sign: int, dtype: np.dtype[Any]) -> Tables:
    """Return `exp(sign * pi i k^2 / n)` for each k."""
    squares = np.array([k * k % (2 * n) for k in range(n)], np.int64)
    return _parts(roots_of_unity(squares, 2 * n, sign), dtype)


@lru_cache(maxsize=16)
def chirp_spectrum(n: int, length: int, sign: int, dtype: np.dtype[Any]) -> Tables:
    """Return the transform of the conjugate chirp, extended to a cycle of some length."""
    real, imaginary = chirp(n, -sign, np.dtype(np.float64))
    cycle = np.zeros(length, np.complex128)
    cycle[:n] = real + 1j * imaginary
    cycle[length - n + 1 :] = cycle[1:n][::-1]
    return _parts(np.fft.fft(cycle) / length, dtype)


@lru_cache(maxsize=16)
def half_turns(n: int, sign: int, dtype: np.dtype[Any]) -> Tables:
    """Return `i * exp(sign * 2 pi i k / n)` for k up to n / 2."""
    return _parts(1j * roots_of_unity(np.arange(n // 2 + 1), n, sign), dtype)


@lru_cache(maxsize=16)
def is_inside(length: int) -> Table:
    """Return whether each position is neither the first nor the last one."""
    inside = np.ones(length, np.bool_)
    inside[0] = inside[-1] = False
    return inside


@lru_cache(maxsize=16)
def inner_factors(n: int, factor: float, dtype: np.dtype[Any]) -> Table:
    """Return a factor for each element of half of a transform that has a conjugate in the other
    half, and 1 for the others."""
    factors = np.full(n // 2 + 1, factor, dtype)
    factors[0] = 1
    if n % 2 == 0:
        factors[-1] = 1
    return factors
