"""Discrete Fourier transforms of a few complex numbers, without loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from riselang.dsl.prelude import complex
from riselang.dsl.symbolic_values import Value

MAX_PRIME = 13
"""The largest prime length of a codelet; its operations grow with the square of the length."""


def prime_factors(n: int) -> list[int]:
    """Return the prime factors of a number in ascending order."""
    found: list[int] = []
    divisor = 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            found.append(divisor)
            n //= divisor
        divisor += 1
    return [*found, n] if n > 1 else found


def transform_few(xs: Sequence[Value], sign: int) -> list[Value]:
    """Return the sums over j of `xs[j] * exp(sign * 2 pi i j k / n)` for each k."""
    n = len(xs)
    if n == 1:
        return list(xs)
    if n == 2:
        return [xs[0] + xs[1], xs[0] - xs[1]]
    if n == 4:
        return _transform_four(xs, sign)
    first = 4 if n % 4 == 0 and n > 8 else prime_factors(n)[0]
    if first == n:
        return _transform_prime(xs, sign)
    return _transform_composite(xs, sign, first)


def _transform_four(xs: Sequence[Value], sign: int) -> list[Value]:
    even, odd = transform_few(xs[::2], sign), transform_few(xs[1::2], sign)
    turned = _quarter_turn(odd[1], sign)
    return [even[0] + odd[0], even[1] + turned, even[0] - odd[0], even[1] - turned]


def _transform_composite(xs: Sequence[Value], sign: int, first: int) -> list[Value]:
    """Transform in two steps, of lengths `first` and `n / first` (Cooley and Tukey)."""
    n = len(xs)
    second = n // first
    rows = [transform_few(xs[position::second], sign) for position in range(second)]
    result: list[Value] = list(xs)
    for k in range(first):
        column = [_turn(row[k], sign * k * p, n) for p, row in enumerate(rows)]
        result[k::first] = transform_few(column, sign)
    return result


def _transform_prime(xs: Sequence[Value], sign: int) -> list[Value]:
    """Combine the pairs of elements whose factors are conjugates."""
    n, half = len(xs), len(xs) // 2
    sums = [xs[j] + xs[n - j] for j in range(1, half + 1)]
    differences = [_quarter_turn(xs[j] - xs[n - j], sign) for j in range(1, half + 1)]
    total = xs[0]
    for each in sums:
        total = total + each
    result = [total, *xs[1:]]
    for k in range(1, half + 1):
        even, odd = xs[0], differences[0] * math.sin(2 * math.pi * k / n)
        for j, each in enumerate(sums, 1):
            even = even + each * math.cos(2 * math.pi * (j * k % n) / n)
        for j, each in enumerate(differences[1:], 2):
            odd = odd + each * math.sin(2 * math.pi * (j * k % n) / n)
        result[k], result[n - k] = even + odd, even - odd
    return result


def _quarter_turn(z: Value, sign: int) -> Value:
    """Return `sign * i * z`."""
    return complex(-z.imag, z.real) if sign > 0 else complex(z.imag, -z.real)


def _turn(z: Value, k: int, n: int) -> Value:
    """Return `exp(2 pi i k / n) * z`, with as few operations as possible."""
    k %= n
    if 8 * k % n:
        angle = 2 * math.pi * k / n
        return z * (math.cos(angle) + 1j * math.sin(angle))
    eighths = 8 * k // n
    if eighths % 2:
        z = complex(z.real - z.imag, z.real + z.imag) * math.sqrt(0.5)
    for _ in range(eighths // 2 % 2):
        z = _quarter_turn(z, 1)
    return -z if eighths >= 4 else z
