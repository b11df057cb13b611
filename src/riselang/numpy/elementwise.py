"""Elementwise functions under NumPy's names; types are promoted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.dialects.rise.types import (
    ScalarType,
    i1,
    is_float,
    is_unsigned,
)
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import map_elements
from riselang.dsl.arrays.selections import clip as clip_elements
from riselang.dsl.arrays.shapes import literal_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import scalar_function
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, build_operation, compare, complex_part, convert
from riselang.dsl.tracing import value_text
from riselang.numpy.promotion import as_value, promote, promote_to_floats, type_of
from riselang.term.conversion import bit_width

Function = Callable[..., Value]
MAX, MIN, ABS = (scalar_function(name) for name in ("max", "min", "abs"))
INFINITY = float("inf")


def _named(name: str, description: str, function: Function) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = description
    return function


def _float_function(name: str, scalar_name: str) -> Function:
    """Return a function of floats; integers are converted to f64."""

    def apply(x: Any) -> Value:
        return build_operation(scalar_name, *promote_to_floats(x), symbol=name)

    return _named(name, f"Return `{scalar_name}` of each element.", apply)


def _function_of_two_floats(name: str) -> Function:
    def apply(x: Any, y: Any) -> Value:
        return build_operation(name, *promote_to_floats(x, y))

    return _named(name, f"Return `{name}` of the elements of two arrays.", apply)


exp, expm1, log_, log1p, log2, log10, sqrt = (
    _float_function(name, name)
    for name in ["exp", "expm1", "log", "log1p", "log2", "log10", "sqrt"]
)
sin, cos, tan, sinh, cosh, tanh = (
    _float_function(name, name) for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]
)
asin, acos, atan = (_float_function(name, name) for name in ["asin", "acos", "atan"])
atan2, copysign = (_function_of_two_floats(name) for name in ("atan2", "copysign"))
exp2, cbrt = (_float_function(name, name) for name in ("exp2", "cbrt"))


def _rounding(name: str, scalar_name: str) -> Function:
    """Return a function that rounds floats; integers and Booleans stay as they are."""

    def apply(x: Any) -> Value:
        (value,) = promote(x)
        if not _is_float(value) and not _is_complex(value):
            return value
        return build_operation(scalar_name, value, symbol=name)

    return _named(name, f"Return `{scalar_name}` of each float; integers stay as they are.", apply)


floor, ceil, trunc = (_rounding(name, name) for name in ("floor", "ceil", "trunc"))
_round = _rounding("round", "roundeven")


def round(x: Any, decimals: int = 0) -> Value:
    """Round floats to a number of decimals, halves to even; integers stay as they are."""
    if decimals.__class__ is not int:
        refuse(f"round: decimals is an int, but found {value_text(decimals)}")
    (value,) = promote(x)
    if decimals == 0 or not (_is_float(value) or _is_complex(value)):
        if decimals < 0:
            refuse("round: integers are not rounded to tens; convert them with .astype(rl.f64)")
        return _round(value)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return divide(_round(multiply(value, scale)), scale)
    return multiply(_round(divide(value, scale)), scale)


def _is_float(value: Value) -> bool:
    type = type_of(value)
    return isinstance(type, ScalarType) and is_float(type)


def _is_complex(value: Value) -> bool:
    type = type_of(value)
    return isinstance(type, ScalarType) and type.is_complex


def _binary(name: str, function: Function, description: str) -> Function:
    """Return a function on two operands of one type."""

    def apply(x: Any, y: Any) -> Value:
        return function(*promote(x, y))

    return _named(name, description, apply)


add = _binary("add", lambda x, y: x + y, "Return `x + y`.")
subtract = _binary("subtract", lambda x, y: x - y, "Return `x - y`.")
multiply = _binary("multiply", lambda x, y: x * y, "Return `x * y`.")
bitwise_and = _binary("bitwise_and", lambda x, y: x & y, "Return `x & y`.")
bitwise_or = _binary("bitwise_or", lambda x, y: x | y, "Return `x | y`.")
bitwise_xor = _binary("bitwise_xor", lambda x, y: x ^ y, "Return `x ^ y`.")
left_shift = _binary("left_shift", lambda x, y: x << y, "Return `x << y`.")
right_shift = _binary("right_shift", lambda x, y: x >> y, "Return `x >> y`.")


def _comparison(name: str, predicate: str, symbol: str) -> Function:
    def apply(x: Any, y: Any) -> Value:
        return compare(predicate, symbol, *promote(x, y))

    return _named(name, f"Return `x {symbol} y`.", apply)


equal = _comparison("equal", "eq", "==")
not_equal = _comparison("not_equal", "ne", "!=")
less = _comparison("less", "lt", "<")
less_equal = _comparison("less_equal", "le", "<=")
greater = _comparison("greater", "gt", ">")
greater_equal = _comparison("greater_equal", "ge", ">=")


def divide(x: Any, y: Any) -> Value:
    """Return the quotient as a float."""
    x, y = promote_to_floats(x, y)
    return x / y


def floor_divide(x: Any, y: Any) -> Value:
    """Return the quotient, rounded down."""
    x, y = promote(x, y)
    return x // y


def remainder(x: Any, y: Any) -> Value:
    """Return the remainder of a division that rounds down; it has the sign of `y`."""
    x, y = promote(x, y)
    return x % y


def one_of(value: Value) -> Value:
    return literal_of(1, type_of(value))


def pow(x: Any, y: Any) -> Value:
    """Return the power `x ** y`; the exponents of integers must not be negative."""
    if isinstance(y, int) and y > 0 and not isinstance(y, bool):
        return as_value(x) ** y
    x, y = promote(x, y)
    if _is_float(x) or _is_complex(x):
        return x**y
    return map_elements("pow", _integer_power, (x, y))


def _integer_power(base: Value, exponent: Value) -> Value:
    """Multiply repeatedly: each step uses one bit of the exponent."""
    type = type_of(base)
    assert isinstance(type, ScalarType)

    def step(power: Value, factor: Value, bits: Value) -> Any:
        return select((bits & 1) == 1, power * factor, power), factor * factor, bits >> 1

    return patterns.iterate(bit_width(type), step, (literal_of(1, type), base, exponent))[0]


def maximum(x: Any, y: Any) -> Value:
    """Return the greater of two elements; NaN if one of them is NaN."""
    x, y = promote(x, y)
    return x | y if type_of(x) == i1 else MAX(x, y)


def minimum(x: Any, y: Any) -> Value:
    """Return the smaller of two elements; NaN if one of them is NaN."""
    x, y = promote(x, y)
    return x & y if type_of(x) == i1 else MIN(x, y)


def clip(x: Any, min: Any = None, max: Any = None) -> Value:
    """Limit the elements to the range from `min` to `max`; None does not limit them."""
    bounds = [each for each in (min, max) if each is not None]
    x, *limits = promote(x, *bounds)
    low = limits.pop(0) if min is not None else None
    return clip_elements(x, low, limits[0] if limits else None)


def absolute(x: Any) -> Value:
    """Return the absolute value of each element."""
    (x,) = promote(x)
    return x if type_of(x) == i1 or is_unsigned(type_of(x)) else ABS(x)


def negative(x: Any) -> Value:
    """Return `-x`."""
    return -promote(x)[0]


def positive(x: Any) -> Value:
    """Return the elements as they are."""
    return promote(x)[0]


def square(x: Any) -> Value:
    """Return `x * x`."""
    (x,) = promote(x)
    return map_elements("square", lambda a: a * a, (x,))


def reciprocal(x: Any) -> Value:
    """Return `1 / x`."""
    return divide(1.0, x)


def sign(x: Any) -> Value:
    """Return -1, 0 or 1 for each element, and NaN for NaN."""
    (x,) = promote(x)
    return map_elements("sign", _sign, (x,))


def _sign(a: Value) -> Value:
    one = one_of(a)
    if not _is_float(a):
        return select(a > 0, one, select(a < 0, -one, one - one))
    return select(a == 0, one - one, select(a != a, a, build_operation("copysign", one, a)))


def signbit(x: Any) -> Value:
    """Return whether the sign bit of each float is set."""
    (x,) = promote_to_floats(x)
    return map_elements("signbit", lambda a: build_operation("copysign", one_of(a), a) < 0, (x,))


def isnan(x: Any) -> Value:
    """Return whether each element is NaN."""
    (x,) = promote_to_floats(x)
    return map_elements("isnan", lambda a: a != a, (x,))


def isinf(x: Any) -> Value:
    """Return whether each element is an infinity."""
    (x,) = promote_to_floats(x)
    return map_elements("isinf", lambda a: ABS(a) == INFINITY, (x,))  # also of complex numbers


def isfinite(x: Any) -> Value:
    """Return whether each element is a finite number."""
    (x,) = promote_to_floats(x)
    return map_elements("isfinite", lambda a: ABS(a) < INFINITY, (x,))


def real(x: Any) -> Value:
    """Return the real part of each number."""
    (x,) = promote(x)
    return complex_part("real", x) if _is_complex(x) else x


def imag(x: Any) -> Value:
    """Return the imaginary part of each number; that of a real number is 0."""
    (x,) = promote(x)
    if _is_complex(x):
        return complex_part("imag", x)
    return map_elements("imag", lambda a: literal_of(0, type_of(a)), (x,))


def conj(x: Any) -> Value:
    """Return the conjugate of each number; a real number is its own."""
    (x,) = promote(x)
    return complex_part("conj", x) if _is_complex(x) else x


def angle(x: Any) -> Value:
    """Return the angle of each number in the complex plane."""
    (x,) = promote_to_floats(x)
    return atan2(imag(x), real(x))


def hypot(x: Any, y: Any) -> Value:
    """Return the length of the vector (x, y), without overflow of its squares."""
    return map_elements("hypot", _hypot, promote_to_floats(x, y))


def _hypot(a: Value, b: Value) -> Value:
    large, small = MAX(ABS(a), ABS(b)), MIN(ABS(a), ABS(b))
    ratio = select(large == 0, large, small / large)
    length = large * build_operation("sqrt", 1 + ratio * ratio)
    return select((ABS(a) == INFINITY) | (ABS(b) == INFINITY), one_of(a) * INFINITY, length)


def logaddexp(x: Any, y: Any) -> Value:
    """Return `log(exp(x) + exp(y))`, without overflow."""
    return map_elements("logaddexp", _logaddexp, promote_to_floats(x, y))


def _logaddexp(a: Value, b: Value) -> Value:
    # Selecting the operands, rather than a maximum and an absolute value, has a derivative where
    # they are equal.
    first = a >= b
    greater, less = select(first, a, b), select(first, b, a)
    total = greater + build_operation("log1p", build_operation("exp", less - greater))
    is_infinite = (a == b) & (ABS(a) == float("inf"))
    return select(is_infinite, a, total)


def _truth(x: Any) -> Value:
    value = as_value(x)
    return value if type_of(value) == i1 else convert(value, i1)


def logical_and(x: Any, y: Any) -> Value:
    """Return whether both elements are true, or not zero."""
    return _truth(x) & _truth(y)


def logical_or(x: Any, y: Any) -> Value:
    """Return whether one of two elements is true, or not zero."""
    return _truth(x) | _truth(y)


def logical_xor(x: Any, y: Any) -> Value:
    """Return whether exactly one of two elements is true, or not zero."""
    return _truth(x) ^ _truth(y)


def logical_not(x: Any) -> Value:
    """Return whether each element is false, or zero."""
    return ~_truth(x)


def invert(x: Any) -> Value:
    """Invert the bits of integers, or negate Booleans."""
    return ~promote(x)[0]


def where(condition: Any, x: Any, y: Any) -> Value:
    """Return the elements of `x` where the condition holds, and those of `y` elsewhere."""
    return select(_truth(condition), *promote(x, y))
