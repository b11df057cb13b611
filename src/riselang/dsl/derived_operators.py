"""Operators that are composed of operations: remainders, powers of integers, and negations."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.pattern_registry import VECTOR_FROM_SCALAR
from riselang.dialects.rise.types import ScalarType, TypeVariable, VectorType, i1
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.symbolic_values import Value, build_binary, has_arrays, is_integer, map_arrays
from riselang.dsl.tracing import current_trace, type_text

Operand = Any


def remainder(left: Operand, right: Operand) -> Value:
    """Return `left - (left // right) * right`."""
    if has_arrays((left, right)):
        return map_arrays("%", remainder, (left, right))
    return left - build_binary("floordiv", "%", left, right) * right


def power(base: Operand, exponent: Operand) -> Value:
    """Return a power: of floats, or of an integer with a constant exponent, by multiplications."""
    if has_arrays((base, exponent)):
        return map_arrays("**", power, (base, exponent))
    if isinstance(exponent, int) and exponent > 0 and isinstance(base, Value):
        type = lane_type(base.type)
        if isinstance(type, ScalarType) and is_integer(type):
            return _multiply_repeatedly(base, exponent)
    return build_binary("pow", "**", base, exponent)


def _multiply_repeatedly(base: Value, exponent: int) -> Value:
    if exponent == 1:
        return base
    half = _multiply_repeatedly(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def invert(value: Value) -> Value:
    """Negate a Boolean, or invert the bits of an integer; lane by lane in a vector."""
    if has_arrays((value,)):
        return map_arrays("~", invert, (value,))
    type = value.type
    if isinstance(type, TypeVariable):
        current_trace().unify(i1, type, "operand of '~'")
    lane = lane_type(current_trace().inference.resolve(type))
    if lane != i1 and not (isinstance(lane, ScalarType) and is_integer(lane)):
        refuse(f"'~' works on Booleans and integers, but this is {type_text(type)}")
    ones: Operand = True if lane == i1 else -1
    if isinstance(type, VectorType):
        ones = Value(apply_pattern(VECTOR_FROM_SCALAR, {"k": type.length}, [ones], None))
    return build_binary("bitxor", "~", value, ones)
