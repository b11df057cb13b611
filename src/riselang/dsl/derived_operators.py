"""Operators that are composed of operations: quotients, remainders, and powers of integers."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.types import ScalarType, TypeVariable, f64, i1, i64, is_float
from riselang.dsl.float_division import float_remainder, floor_quotient
from riselang.dsl.symbolic_values import (
    Value,
    build_binary,
    convert,
    has_arrays,
    is_integer,
    map_arrays,
    promote_operands,
)
from riselang.dsl.tracing import current_trace

Operand = Any
MAX_FLOAT_EXPONENT = 4
"""Each multiplication rounds, so greater powers of floats call `pow`, which rounds once."""


def quotient(left: Operand, right: Operand) -> Value:
    """Return `left / right`; of integers and Booleans, as an f64."""
    if has_arrays((left, right)):
        return map_arrays("/", quotient, (left, right))
    a, b = promote_operands("/", left, right)
    type = a.type
    if isinstance(type, TypeVariable) and current_trace().number_class(type) is int:
        current_trace().add_number(type, float)
    if type == i1 or (isinstance(type, ScalarType) and is_integer(type)):
        a, b = convert(a, f64), convert(b, f64)
    return build_binary("div", "/", a, b)


def floor_division(left: Operand, right: Operand) -> Value:
    """Return the quotient, rounded down."""
    if has_arrays((left, right)):
        return map_arrays("//", floor_division, (left, right))
    a, b = promote_operands("//", left, right)
    return floor_quotient(a, b) if _is_float(a) else build_binary("floordiv", "//", a, b)


def remainder(left: Operand, right: Operand) -> Value:
    """Return `left - (left // right) * right`."""
    if has_arrays((left, right)):
        return map_arrays("%", remainder, (left, right))
    a, b = promote_operands("%", left, right)
    if _is_float(a):
        return float_remainder(a, b)
    return a - build_binary("floordiv", "%", a, b) * b


def _is_float(value: Value) -> bool:
    type = value.type
    if isinstance(type, TypeVariable):
        return current_trace().number_class(type) is float
    return isinstance(type, ScalarType) and is_float(type)


def power(base: Operand, exponent: Operand) -> Value:
    """Return a power: of floats, or of an integer or a complex number with a constant exponent."""
    if has_arrays((base, exponent)):
        return map_arrays("**", power, (base, exponent))
    if isinstance(base, Value) and base.type == i1 and type(exponent) is int:
        base = convert(base, i64)
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
    return is_float(type) and exponent <= MAX_FLOAT_EXPONENT


def _multiply_repeatedly(base: Value, exponent: int) -> Value:
    if exponent == 1:
        return base
    half = _multiply_repeatedly(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half
