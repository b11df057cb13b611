"""Operators that are composed of operations: remainders, and powers of integers."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.types import ScalarType
from riselang.dsl.symbolic_values import Value, build_binary, has_arrays, is_integer, map_arrays

Operand = Any
MAX_FLOAT_EXPONENT = 4
"""Each multiplication rounds, so greater powers of floats call `pow`, which rounds once."""


def remainder(left: Operand, right: Operand) -> Value:
    """Return `left - (left // right) * right`."""
    if has_arrays((left, right)):
        return map_arrays("%", remainder, (left, right))
    return left - build_binary("floordiv", "%", left, right) * right


def power(base: Operand, exponent: Operand) -> Value:
    """Return a power: of floats, or of an integer or a complex number with a constant exponent."""
    if has_arrays((base, exponent)):
        return map_arrays("**", power, (base, exponent))
    if isinstance(base, Value) and _is_product(base, exponent):
        return _multiply_repeatedly(base, int(exponent))
    return build_binary("pow", "**", base, exponent)


def _is_product(base: Value, exponent: Operand) -> bool:
    """Whether a power is computed by multiplications: for floats, if these are few."""
    if not isinstance(exponent, int | float) or exponent != exponent // 1 or exponent < 1:
        return False
    type = lane_type(base.type)
    if not isinstance(type, ScalarType):
        return False
    if is_integer(type) or type.is_complex:
        return isinstance(exponent, int)
    return exponent <= MAX_FLOAT_EXPONENT


def _multiply_repeatedly(base: Value, exponent: int) -> Value:
    if exponent == 1:
        return base
    half = _multiply_repeatedly(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half
