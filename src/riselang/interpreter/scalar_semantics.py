"""Reference semantics of scalar operations.

Integers are Python integers, wrapped to their width after every operation; floats are NumPy
scalars, rounded after every operation. Functions that hardware does not compute exactly are calls
of the same C math library that compiled code uses.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ScalarType,
    i1,
    integer_width,
    is_float,
    wrap_integer,
)
from riselang.support.element_types import dtype_named
from riselang.support.errors import LimitationError
from riselang.term.mathlib import LIBRARY_FUNCTIONS


@cache
def numpy_dtype(type: ScalarType) -> np.dtype[Any]:
    return dtype_named(SCALAR_NAMES[type])


def to_unsigned(number: int, type: ScalarType) -> int:
    return number & ((1 << integer_width(type)) - 1)


def to_signed(number: int, type: ScalarType) -> int:
    width = integer_width(type)
    return number - (1 << width) if number >> (width - 1) == 1 else number


def make_constant(number: float, type: ScalarType) -> Any:
    return numpy_dtype(type).type(number) if is_float(type) else wrap_integer(int(number), type)


def from_numpy(value: Any, type: ScalarType) -> Any:
    if is_float(type):
        return numpy_dtype(type).type(value)
    return -int(value) if type == i1 else int(value)


def to_numpy(value: Any, type: ScalarType) -> Any:
    return bool(value) if type == i1 else value


def evaluate_op(
    op: str, operands: Sequence[Any], source: ScalarType, target: ScalarType, predicate: str | None
) -> Any:
    """The result of the MLIR op `op`; `source` is the type of its last operand."""
    if op == "arith.cmpf":
        return -int(_compare_floats(predicate or "", operands[0], operands[1]))
    if op == "arith.cmpi":
        return -int(_compare_integers(predicate or "", operands[0], operands[1], source))
    if op == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if op in CONVERSIONS:
        return CONVERSIONS[op](operands[0], source, target)
    if op in LIBRARY_FUNCTIONS:
        return _call_library(LIBRARY_FUNCTIONS[op], operands, target)
    if op in FLOAT_OPS:
        with np.errstate(all="ignore"):
            return numpy_dtype(target).type(FLOAT_OPS[op](*operands))
    if op in INTEGER_OPS:
        return wrap_integer(INTEGER_OPS[op](*(to_signed(x, target) for x in operands)), target)
    if op in UNSIGNED_OPS:
        return wrap_integer(UNSIGNED_OPS[op](*(to_unsigned(x, target) for x in operands)), target)
    if op in SHIFTS:
        return wrap_integer(
            SHIFTS[op](operands[0], to_unsigned(operands[1], target), target), target
        )
    if op in BIT_COUNTS:
        return wrap_integer(BIT_COUNTS[op](to_unsigned(operands[0], target), target), target)
    raise LimitationError(f"the interpreter has no {op}")


# Floats


def _maximum(a: Any, b: Any) -> Any:
    if a != a or b != b:
        return a + b
    if a == b:
        return b if math.copysign(1.0, float(a)) < 0 else a
    return a if a > b else b


def _minimum(a: Any, b: Any) -> Any:
    if a != a or b != b:
        return a + b
    if a == b:
        return a if math.copysign(1.0, float(a)) < 0 else b
    return a if a < b else b


def _ignore_nan(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: b if a != a else a if b != b else choose(a, b)


def _round_half_away(a: Any) -> Any:
    if not np.isfinite(a):
        return a
    truncated = np.trunc(a)
    away = abs(float(a) - float(truncated)) >= 0.5
    rounded = truncated + np.copysign(1, a) if away else truncated
    return np.copysign(rounded, a)


def _fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c rounded once."""
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        # The exact product is finite, even if it would round to infinity.
        return c
    product = Fraction(float(a)) * Fraction(float(b))
    exact = product + Fraction(float(c))
    if exact == 0:
        # The sign of a zero follows IEEE addition of the exact product and c.
        signed_zero = float(np.copysign(0.0, a)) * float(np.copysign(1.0, b))
        zero_product = float(product) if product else signed_zero
        return type(a)(zero_product + float(c))
    return _round_to_nearest(exact, type(a))


def _round_to_nearest(exact: Fraction, kind: Any) -> Any:
    """The float of type `kind` nearest to `exact`, ties to even."""
    with np.errstate(all="ignore"):
        guess = kind(_to_float(exact))
    if not np.isfinite(guess):
        return guess
    candidates = [np.nextafter(guess, kind(-np.inf)), guess, np.nextafter(guess, kind(np.inf))]
    finite = [candidate for candidate in candidates if np.isfinite(candidate)]
    best = min(abs(Fraction(float(c)) - exact) for c in finite)
    nearest = [c for c in finite if abs(Fraction(float(c)) - exact) == best]
    return next((c for c in nearest if _is_even(c)), nearest[0])


def _to_float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _is_even(value: Any) -> bool:
    return np.asarray(value).tobytes()[0] % 2 == 0


FLOAT_OPS: Mapping[str, Callable[..., Any]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.negf": lambda a: -a,
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": _ignore_nan(_maximum),
    "arith.minnumf": _ignore_nan(_minimum),
    "math.absf": abs,
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.round": _round_half_away,
    "math.roundeven": np.rint,
    "math.copysign": np.copysign,
    "math.fma": _fma,
}


@cache
def _library_function(name: str, arity: int, single: bool) -> Any:
    from ctypes.util import find_library

    library = ctypes.CDLL(find_library("m") or "libm.so.6")
    number = ctypes.c_float if single else ctypes.c_double
    function = getattr(library, f"{name}f" if single else name)
    function.argtypes = [number] * arity
    function.restype = number
    return function


def _call_library(name: str, operands: Sequence[Any], type: ScalarType) -> Any:
    function = _library_function(name, len(operands), SCALAR_NAMES[type] != "f64")
    with np.errstate(all="ignore"):
        return numpy_dtype(type).type(function(*(float(operand) for operand in operands)))


def _compare_floats(predicate: str, a: Any, b: Any) -> bool:
    unordered = bool(a != a or b != b)
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    if unordered:
        return predicate.startswith("u")
    return _compare(predicate[1:], a, b)


def _compare(relation: str, a: Any, b: Any) -> bool:
    answers = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return bool(answers[relation])


# Integers


def _compare_integers(predicate: str, a: int, b: int, type: ScalarType) -> bool:
    if predicate.startswith("u"):
        return _compare(predicate[1:], to_unsigned(a, type), to_unsigned(b, type))
    return _compare(predicate.removeprefix("s"), to_signed(a, type), to_signed(b, type))


def _truncated_quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - _truncated_quotient(a, b) * b


INTEGER_OPS: Mapping[str, Callable[..., int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _truncated_quotient,
    "arith.remsi": _remainder,
    "arith.floordivsi": lambda a, b: a // b if b else 0,
    "arith.ceildivsi": lambda a, b: -(-a // b) if b else 0,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": max,
    "arith.minsi": min,
    "math.absi": lambda a: abs(a),
}
UNSIGNED_OPS: Mapping[str, Callable[..., int]] = {
    "arith.divui": lambda a, b: a // b if b else 0,
    "arith.remui": lambda a, b: a % b if b else a,
    "arith.ceildivui": lambda a, b: -(-a // b) if b else 0,
    "arith.maxui": max,
    "arith.minui": min,
}


def _shift_left(a: int, amount: int, type: ScalarType) -> int:
    return a << amount if amount < integer_width(type) else 0


def _shift_right(a: int, amount: int, type: ScalarType) -> int:
    return a >> min(amount, integer_width(type))


SHIFTS: Mapping[str, Callable[[int, int, ScalarType], int]] = {
    "arith.shli": _shift_left,
    "arith.shrsi": lambda a, amount, type: _shift_right(to_signed(a, type), amount, type),
    "arith.shrui": lambda a, amount, type: _shift_right(to_unsigned(a, type), amount, type),
}

BIT_COUNTS: Mapping[str, Callable[[int, ScalarType], int]] = {
    "math.ctpop": lambda a, type: a.bit_count(),
    "math.ctlz": lambda a, type: integer_width(type) - a.bit_length(),
}

# Conversions


def _float_to_integer(value: Any, target: ScalarType, signed: bool) -> int:
    width = integer_width(target)
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1)) - 1 if signed else (1 << width) - 1
    if value != value:
        return 0
    if not np.isfinite(value):
        return wrap_integer(high if value > 0 else low, target)
    return wrap_integer(min(max(math.trunc(float(value)), low), high), target)


def _to_float_type(value: Any, target: ScalarType) -> Any:
    with np.errstate(all="ignore"):
        return numpy_dtype(target).type(value)


def _integer_to_float(number: int, target: ScalarType) -> Any:
    """Convert with one rounding: NumPy would convert to a small type through another one."""
    if SCALAR_NAMES[target] == "f64":
        return np.float64(number)
    if number == 0:
        return numpy_dtype(target).type(0)
    return _round_to_nearest(Fraction(number), numpy_dtype(target).type)


def _bitcast(value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Reinterpret the bits of a value as another type of the same width."""
    bits = np.asarray(to_numpy(value, source), numpy_dtype(source))
    return from_numpy(bits.view(numpy_dtype(target))[()], target)


CONVERSIONS: Mapping[str, Callable[[Any, ScalarType, ScalarType], Any]] = {
    "arith.extf": lambda value, source, target: _to_float_type(value, target),
    "arith.truncf": lambda value, source, target: _to_float_type(value, target),
    "arith.sitofp": lambda value, source, target: _integer_to_float(
        to_signed(value, source), target
    ),
    "arith.uitofp": lambda value, source, target: _integer_to_float(
        to_unsigned(value, source), target
    ),
    "arith.fptosi": lambda value, source, target: _float_to_integer(value, target, True),
    "arith.fptoui": lambda value, source, target: _float_to_integer(value, target, False),
    "arith.extsi": lambda value, source, target: wrap_integer(to_signed(value, source), target),
    "arith.extui": lambda value, source, target: wrap_integer(to_unsigned(value, source), target),
    "arith.trunci": lambda value, source, target: wrap_integer(value, target),
    "arith.index_cast": lambda value, source, target: wrap_integer(
        to_signed(value, source), target
    ),
    "arith.bitcast": _bitcast,
}
