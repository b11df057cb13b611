"""Scalar operations on whole numpy arrays, written from the reference text and numpy alone.

Nothing here comes from `riselang.interpreter`: the small floats are computed in f32 and rounded,
which is exact for + - * / and sqrt, and integers wrap because numpy's arrays do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: Mapping[str, Any] = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "index": np.int64,
}  # fmt: skip
WIDTHS = {
    "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "index": 64,
}  # fmt: skip
SMALL_FLOATS = ("f8e4m3fn", "f8e5m2", "f16", "bf16")


def evaluate(
    op: str, operands: Sequence[Array], sources: Sequence[str], target: str, predicate: str | None
) -> Array:
    """The MLIR op on arrays of equal shape; `sources` and `target` name scalar types."""
    with np.errstate(all="ignore"):
        if op == "arith.select":
            return np.where(*operands)
        if op == "arith.cmpf":
            wide = [_widen(operand, sources[0]) for operand in operands]
            return _compare_floats(predicate or "", *wide)
        if op == "arith.cmpi":
            return _compare_integers(predicate or "", operands, sources[0])
        if op in CONVERSIONS:
            return CONVERSIONS[op](operands[0], sources[0], target)
        if op in FLOATS:
            wide = [_widen(operand, target) for operand in operands]
            return _narrow(FLOATS[op](*wide), target)
        if op in INTEGERS:
            return _from_signed(INTEGERS[op](*[_signed(x, target) for x in operands]), target)
        if op in UNSIGNED:
            result = UNSIGNED[op](*[_unsigned(x, target) for x in operands])
            return _from_unsigned(result, target)
        return _shift(op, operands, target)


# Floats


def _widen(values: Array, type: str) -> Array:
    return values.astype(np.float32) if type in SMALL_FLOATS else values


def _narrow(values: Array, type: str) -> Array:
    return values.astype(DTYPES[type])


def _maximum(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))


def _minimum(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))


def _maximum_number(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, _maximum(a, b)))


def _minimum_number(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, _minimum(a, b)))


def _round_away(a: Array) -> Array:
    down = np.floor(np.abs(a))
    return np.copysign(np.where(np.abs(a) - down >= 0.5, down + 1, down).astype(a.dtype), a)


FLOATS: Mapping[str, Callable[..., Array]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": _maximum_number,
    "arith.minnumf": _minimum_number,
    "math.absf": np.abs,
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.round": _round_away,
    "math.roundeven": np.rint,
}

RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _compare_floats(predicate: str, a: Array, b: Array) -> Array:
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("false", "true"):
        return np.full(a.shape, predicate == "true")
    if predicate in ("uno", "ord"):
        return unordered if predicate == "uno" else ~unordered
    holds = RELATIONS[predicate[1:]](a, b)
    return (holds | unordered) if predicate[0] == "u" else (holds & ~unordered)


# Integers


def _signed(values: Array, type: str) -> Array:
    if type == "i1":
        return -values.astype(np.int8)
    return values.view(f"i{values.dtype.itemsize}")


def _unsigned(values: Array, type: str) -> Array:
    if type == "i1":
        return values.astype(np.uint8)
    return values.view(f"u{values.dtype.itemsize}")


def _from_signed(values: Array, type: str) -> Array:
    return (values & 1) != 0 if type == "i1" else values.astype(DTYPES[type])


def _from_unsigned(values: Array, type: str) -> Array:
    if type == "i1":
        return (values & 1) != 0
    return np.array(values).view(DTYPES[type])


def _compare_integers(predicate: str, operands: Sequence[Array], type: str) -> Array:
    if predicate[0] == "u":
        return RELATIONS[predicate[1:]](*[_unsigned(x, type) for x in operands])
    return RELATIONS[predicate.removeprefix("s")](*[_signed(x, type) for x in operands])


def _nonzero(b: Array) -> Array:
    return np.where(b == 0, np.ones_like(b), b)


def _floor_division(a: Array, b: Array) -> Array:
    # -1 is kept apart: the smallest integer over it does not fit.
    quotient = np.where(b == -1, np.negative(a), np.floor_divide(a, _positive_divisor(b)))
    return np.where(b == 0, np.zeros_like(a), quotient)


def _positive_divisor(b: Array) -> Array:
    return np.where((b == 0) | (b == -1), np.ones_like(b), b)


def _is_inexact(a: Array, b: Array) -> Array:
    return (b != 0) & (b != -1) & (np.mod(a, _positive_divisor(b)) != 0)


def _truncated_division(a: Array, b: Array) -> Array:
    up = _is_inexact(a, b) & ((a < 0) != (b < 0))
    return (_floor_division(a, b) + up).astype(a.dtype)


def _ceiling_division(a: Array, b: Array) -> Array:
    return (_floor_division(a, b) + _is_inexact(a, b)).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    return (a - _truncated_division(a, b) * b).astype(a.dtype)


INTEGERS: Mapping[str, Callable[..., Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _truncated_division,
    "arith.remsi": _remainder,
    "arith.floordivsi": _floor_division,
    "arith.ceildivsi": _ceiling_division,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "math.absi": np.abs,
}
UNSIGNED: Mapping[str, Callable[..., Array]] = {
    "arith.divui": lambda a, b: np.where(b == 0, 0, a // _nonzero(b)).astype(a.dtype),
    "arith.remui": lambda a, b: np.where(b == 0, a, a % _nonzero(b)),
    "arith.ceildivui": lambda a, b: np.where(
        b == 0, 0, a // _nonzero(b) + (a % _nonzero(b) != 0)
    ).astype(a.dtype),
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "math.ctpop": lambda a: np.bitwise_count(a).astype(a.dtype),
    "math.ctlz": lambda a: _leading_zeros(a),
}


def _leading_zeros(a: Array) -> Array:
    shifts = range(a.dtype.itemsize * 8)
    return sum(((a >> a.dtype.type(shift)) == 0).astype(a.dtype) for shift in shifts)  # type: ignore[return-value]


def _shift(op: str, operands: Sequence[Array], type: str) -> Array:
    width = WIDTHS[type]
    amount = _unsigned(operands[1], type)
    fits = amount < width
    shift = np.where(fits, amount, 0)
    if op == "arith.shli":
        values = _unsigned(operands[0], type)
        return _from_unsigned(np.where(fits, values << shift, 0).astype(values.dtype), type)
    if op == "arith.shrui":
        values = _unsigned(operands[0], type)
        return _from_unsigned(np.where(fits, values >> shift, 0).astype(values.dtype), type)
    assert op == "arith.shrsi", op
    values = _signed(operands[0], type)
    return _from_signed(np.where(fits, values >> shift.astype(values.dtype), values >> 7 >> 7
                        if width <= 8 else values >> (width - 1)), type)  # fmt: skip


# Conversions


def _round_to_odd(values: Array) -> Array:
    """f64 to f32, inexact results made odd, so that a second rounding is as good as one."""
    nearest = values.astype(np.float32)
    above = np.abs(nearest.astype(np.float64)) > np.abs(values)
    towards_zero = np.where(above, np.nextafter(nearest, np.float32(0)), nearest)
    inexact = (nearest.astype(np.float64) != values) & ~np.isnan(values)
    bits = np.array(towards_zero).view(np.uint32)
    return np.where(inexact, bits | 1, bits).astype(np.uint32).view(np.float32)


def _between_floats(values: Array, source: str, target: str) -> Array:
    if source == "f64" and target == "bf16":
        return _round_to_odd(values).astype(DTYPES["bf16"])
    return values.astype(DTYPES[target])


def _to_float(values: Array, target: str) -> Array:
    if target in ("f32", "f64"):
        return values.astype(DTYPES[target])
    if target == "f16":
        # What f64 does not hold exactly is infinite in f16.
        return values.astype(np.float64).astype(np.float16)
    if values.dtype.itemsize == 8:
        sticky = (values & 0x7FF) != 0
        large = (values > 1 << 53) | (values < -(1 << 53) if values.dtype.kind == "i" else False)
        kept = (values >> 11 << 11) | (sticky.astype(values.dtype) << 11)
        values = np.where(large, kept, values)
    return _between_floats(values.astype(np.float64), "f64", "bf16")


def _to_signed(values: Array, source: str, target: str) -> Array:
    whole = np.trunc(values.astype(np.float64))
    limit = 2.0 ** (WIDTHS[target] - 1)
    inside = np.where((whole >= -limit) & (whole < limit), whole, 0).astype(np.int64)
    result = np.where(whole >= limit, int(limit) - 1, np.where(whole < -limit, -int(limit), inside))
    return _from_signed(result, target)


def _to_unsigned(values: Array, source: str, target: str) -> Array:
    whole = np.trunc(values.astype(np.float64))
    limit = 2.0 ** WIDTHS[target]
    inside = np.where((whole >= 0) & (whole < limit), whole, 0).astype(np.uint64)
    result = np.where(whole >= limit, np.uint64(int(limit) - 1), inside)
    return result != 0 if target == "i1" else result.view(np.int64).astype(DTYPES[target])


def _resize(values: Array, target: str) -> Array:
    return (values & 1) != 0 if target == "i1" else values.astype(DTYPES[target])


CONVERSIONS: Mapping[str, Callable[[Array, str, str], Array]] = {
    "arith.extf": _between_floats,
    "arith.truncf": _between_floats,
    "arith.sitofp": lambda x, source, target: _to_float(_signed(x, source), target),
    "arith.uitofp": lambda x, source, target: _to_float(_unsigned(x, source), target),
    "arith.fptosi": _to_signed,
    "arith.fptoui": _to_unsigned,
    "arith.extsi": lambda x, source, target: _resize(_signed(x, source), target),
    "arith.extui": lambda x, source, target: _resize(_unsigned(x, source), target),
    "arith.trunci": lambda x, source, target: _resize(_signed(x, source), target),
    "arith.index_cast": lambda x, source, target: _resize(_signed(x, source), target),
    "arith.bitcast": lambda x, source, target: x.view(DTYPES[target]),
    "arith.index_castui": lambda x, source, target: _resize(_unsigned(x, source), target),
}
