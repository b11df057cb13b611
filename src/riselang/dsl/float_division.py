"""Quotients of floats that are rounded down, and their remainders."""

from __future__ import annotations

from riselang.dialects.rise.types import bf16, f16, f32
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, build_operation, convert

INFINITY = float("inf")


def floor_quotient(a: Value, b: Value) -> Value:
    """Return the quotient of two floats of one type, rounded down."""
    return _in_wide_floats(a, b, 0)


def float_remainder(a: Value, b: Value) -> Value:
    """Return the remainder of a division of floats that rounds down; it has the sign of `b`."""
    return _in_wide_floats(a, b, 1)


def _in_wide_floats(a: Value, b: Value, component: int) -> Value:
    """Divide floats of at least 32 bits, and convert the result back."""
    type = a.type
    for short in (f16, bf16):
        if type == short:
            wide = _divide_with_remainder(convert(a, f32), convert(b, f32))
            return convert(wide[component], short)
    return _divide_with_remainder(a, b)[component]


def _divide_with_remainder(a: Value, b: Value) -> tuple[Value, Value]:
    """Divide as Python does: the remainder is exact if the quotient is an exact integer."""
    one = Value(as_node(1, a.type))
    quotient = build_operation("trunc", a / b)
    exact = build_operation("fma", -quotient, b, a)
    step = build_operation("copysign", b, a)
    is_too_large = (exact != 0) & ((exact < 0) != (a < 0))
    rest = select(is_too_large, exact + step, exact)
    rest = select(abs(rest) >= abs(b), rest - step, rest)
    rest = select((abs(b) == INFINITY) & (abs(a) != INFINITY), a, rest)
    differs = (rest != 0) & ((rest < 0) != (b < 0))
    no_rest = select(b < 0, -(0 - rest), rest + 0)  # has the sign of b, the derivatives of rest
    modulus = select(rest == 0, no_rest, select(differs, rest + b, rest))
    floored = (a - rest) / b - select(differs, one, one * 0)
    nearest = build_operation("floor", floored)
    nearest = select(floored - nearest > 0.5, nearest + 1, nearest)
    is_plain = (b != 0) & (abs(a) != INFINITY)
    zero = build_operation("copysign", a * 0, a / b)
    whole = select(floored == 0, zero, nearest)
    return select(is_plain, whole, a / b), select(is_plain, modulus, (a - a) / (b * 0))
