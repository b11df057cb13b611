"""Scalar operations, on tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log

from riselang.dialects.rise.types import IdxType, RiseType, ScalarType, VectorType, index
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    binary,
    bitcast,
    compare,
    convert,
    divide,
    floor_divide,
    is_nan,
    multiply,
    negate,
    select,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES
from riselang.support.errors import LimitationError
from riselang.term.nodes import Scalar

BINARY: Mapping[str, str] = {
    "arith.addf": "add", "arith.subf": "subtract", "arith.mulf": "multiply",
    "arith.divf": "divide", "arith.maximumf": "maximum", "arith.minimumf": "minimum",
    "arith.addi": "add", "arith.subi": "subtract", "arith.muli": "multiply",
    "arith.divsi": "divide", "arith.divui": "divide", "arith.remsi": "remainder",
    "arith.remui": "remainder", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
    "arith.shli": "shift_left", "arith.shrsi": "shift_right_arithmetic",
    "arith.shrui": "shift_right_logical", "arith.maxsi": "maximum", "arith.minsi": "minimum",
    "arith.maxui": "maximum", "arith.minui": "minimum", "math.powf": "power",
    "math.atan2": "atan2",
}  # fmt: skip
UNARY: Mapping[str, str] = {
    "arith.negf": "negate", "math.absf": "abs", "math.absi": "abs", "math.sqrt": "sqrt",
    "math.exp": "exponential", "math.expm1": "exponential_minus_one", "math.log": "log",
    "math.log1p": "log_plus_one", "math.sin": "sine", "math.cos": "cosine", "math.tan": "tan",
    "math.tanh": "tanh", "math.cbrt": "cbrt", "math.floor": "floor", "math.ceil": "ceil",
    "math.round": "round_nearest_afz", "math.roundeven": "round_nearest_even",
    "math.ctpop": "popcnt", "math.ctlz": "count_leading_zeros", "math.asin": "chlo.asin",
    "math.acos": "chlo.acos", "math.atan": "chlo.atan", "math.sinh": "chlo.sinh",
    "math.cosh": "chlo.cosh", "math.erf": "chlo.erf",
}  # fmt: skip
_BOOLEAN: Mapping[str, str] = {
    "arith.addi": "xor", "arith.subi": "xor", "arith.muli": "and", "arith.andi": "and",
    "arith.ori": "or", "arith.xori": "xor", "arith.maxui": "or", "arith.minui": "and",
    "arith.maxsi": "and", "arith.minsi": "or",
}  # fmt: skip
"""Operations on Booleans, which are integers of one bit: as signed ones, true is -1."""


def element_of_scalar(type: RiseType) -> str:
    """Return the StableHLO element type of a scalar."""
    if isinstance(type, IdxType) or type == index:
        return "i64"
    if isinstance(type, VectorType):
        return element_of_scalar(type.element)
    if isinstance(type, ScalarType):
        for name, element in ELEMENT_TYPES.items():
            if element.scalar == type and not element.is_complex:
                return name
    raise LimitationError(f"values of the type {type} cannot be exported")


def _truncated(x: Value) -> Value:
    return select(compare("LT", x, 0), unary("ceil", x), unary("floor", x))


def _copied_sign(x: Value, sign: Value) -> Value:
    integer = f"i{x.dtype.itemsize * 8}"
    is_negative = compare("LT", bitcast(sign, integer), 0)
    size = unary("abs", x)
    return select(is_negative, negate(size), size)


def _maximum_number(name: str) -> Callable[[Value, Value], Value]:
    def chosen(x: Value, y: Value) -> Value:
        return select(is_nan(x), y, select(is_nan(y), x, binary(name, x, y)))

    return chosen


def _ceiling_divided_unsigned(x: Value, y: Value) -> Value:
    quotient = divide(x, y)
    has_rest = compare("NE", binary("remainder", x, y), 0)
    return add(quotient, convert(has_rest, x.element))


def _ceiling_divided(x: Value, y: Value) -> Value:
    return negate(floor_divide(negate(x), y))


OTHERS: Mapping[str, Callable[..., Value]] = {
    "math.fma": lambda a, b, c: add(multiply(a, b), c),
    "math.exp2": lambda x: unary("exponential", multiply(x, log(2))),
    "math.log2": lambda x: divide(unary("log", x), log(2)),
    "math.log10": lambda x: divide(unary("log", x), log(10)),
    "math.trunc": _truncated, "math.copysign": _copied_sign, "arith.select": select,
    "arith.maxnumf": _maximum_number("maximum"), "arith.minnumf": _maximum_number("minimum"),
    "arith.floordivsi": floor_divide, "arith.ceildivsi": _ceiling_divided,
    "arith.ceildivui": _ceiling_divided_unsigned,
}  # fmt: skip
DIVISIONS = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui",
)  # fmt: skip
CONVERSIONS = (
    "arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
    "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast",
)  # fmt: skip


UNSIGNED_OPS = (
    "arith.divui", "arith.remui", "arith.maxui", "arith.minui", "arith.ceildivui", "arith.shrui",
    "arith.extui", "arith.uitofp",
)  # fmt: skip
SIGNED_OPS = (
    "arith.divsi", "arith.remsi", "arith.maxsi", "arith.minsi", "arith.floordivsi", "arith.shrsi",
    "arith.ceildivsi", "arith.extsi", "arith.sitofp", "math.absi",
)  # fmt: skip


def compute(term: Scalar, operands: Sequence[Value]) -> Value:
    """Apply a scalar operation to tensors of one shape."""
    op, element = term.op, element_of_scalar(term.type)
    if op == "arith.cmpf":
        return _compared(str(term.predicate), *operands)
    if op == "arith.cmpi":
        return _compared_integers(str(term.predicate), *operands)
    if op == "arith.bitcast":
        return bitcast(operands[0], element)
    if op not in (*CONVERSIONS, "arith.select") and operands[0].type.is_boolean:
        if op not in _BOOLEAN:
            raise LimitationError(f"the operation {op} on Booleans cannot be exported")
        return binary(_BOOLEAN[op], *operands)
    if op in (*UNSIGNED_OPS, *SIGNED_OPS):
        operands = [_as_integer(each, op in SIGNED_OPS) for each in operands]
    if op in CONVERSIONS:
        return _converted(op, operands[0], element)
    if op in DIVISIONS:
        return bitcast(_divided(op, *operands), element)
    if op in BINARY:
        return bitcast(binary(BINARY[op], *operands), element)
    if op in UNARY:
        return bitcast(unary(UNARY[op], operands[0]), element)
    if op in OTHERS:
        return bitcast(OTHERS[op](*operands), element)
    raise LimitationError(f"the operation {op} cannot be exported", term.location)


def _divided(op: str, x: Value, y: Value) -> Value:
    """Divide integers; a quotient by zero is 0, and the remainder is the dividend."""
    is_zero = compare("EQ", y, 0)
    divisor = select(is_zero, x.graph.full(1, (), x.element), y)
    found = binary(BINARY[op], x, divisor) if op in BINARY else OTHERS[op](x, divisor)
    return select(is_zero, x if op.startswith("arith.rem") else 0, found)


def _as_integer(x: Value, is_signed: bool) -> Value:
    """Return integers with the same bits, with or without a sign."""
    if not x.type.is_integer:
        return x
    return bitcast(x, f"{'' if is_signed else 'u'}i{x.dtype.itemsize * 8}")


def _converted(op: str, x: Value, element: str) -> Value:
    if x.type.is_boolean and op in ("arith.extsi", "arith.sitofp"):
        return negate(convert(x, element))  # true is -1
    if element == "i1":
        if not x.type.is_integer:
            raise LimitationError("conversions of floats to Booleans cannot be exported")
        return compare("NE", binary("and", x, 1), 0)
    wide = ELEMENT_TYPES[element]
    if op in ("arith.fptosi", "arith.fptoui") and wide.is_integer:
        number = f"{'u' if op == 'arith.fptoui' else ''}i{element.removeprefix('u')[1:]}"
        return bitcast(convert(x, number), element)
    return convert(x, element)


def _compared(predicate: str, x: Value, y: Value) -> Value:
    if predicate in ("true", "false"):
        return x.graph.full(predicate == "true", x.shape, "i1")
    if predicate in ("ord", "uno"):
        found = binary("or", is_nan(x), is_nan(y))
        return unary("not", found) if predicate == "ord" else found
    # Comparisons of NaN are false, except NE.
    kind, relation = predicate[0], predicate[1:].upper()
    found = compare(relation, x, y)
    unordered = binary("or", is_nan(x), is_nan(y))
    if kind == "u":
        return found if relation == "NE" else binary("or", found, unordered)
    return binary("and", found, unary("not", unordered)) if relation == "NE" else found


def _compared_integers(predicate: str, x: Value, y: Value) -> Value:
    if predicate in ("eq", "ne"):
        return compare(predicate.upper(), x, y)
    if x.type.is_boolean and predicate[0] == "s":
        x, y = y, x  # true is -1
    x, y = (_as_integer(each, predicate[0] == "s") for each in (x, y))
    return compare(predicate[1:].upper(), x, y)
