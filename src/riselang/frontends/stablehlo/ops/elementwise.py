"""Elementwise ops: their scalar functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.types import ScalarType, f32, f64, i1, i16, i32, i64
from riselang.frontends.stablehlo.elements import ElementType
from riselang.frontends.stablehlo.registry import TypedOp, lowers_elementwise
from riselang.frontends.term_builder import Builder
from riselang.term.build import Constant, Node
from riselang.term.conversion import bit_width

SIGNED_TYPES = {16: i16, 32: i32, 64: i64}


@dataclass(frozen=True)
class _OpsByElement:
    """The arith or math op for each kind of element; None if there is none."""

    on_floats: str | None
    on_signed: str | None
    on_unsigned: str | None
    on_booleans: str | None
    on_complex: str | None = None
    """A generic name, which complex numbers have."""

    def for_element(self, element: ElementType) -> str | None:
        if element.is_complex:
            return self.on_complex
        if element.is_boolean:
            return self.on_booleans
        if element.is_float:
            return self.on_floats
        return self.on_unsigned if element.is_unsigned else self.on_signed


def _bitwise(name: str) -> _OpsByElement:
    return _OpsByElement(None, name, name, name)


def _on_floats(name: str, on_complex: str | None = None) -> _OpsByElement:
    return _OpsByElement(name, None, None, None, on_complex)


ARITHMETIC_OPS: Mapping[str, _OpsByElement] = {
    "stablehlo.add": _OpsByElement("arith.addf", "arith.addi", "arith.addi", "arith.ori", "add"),
    "stablehlo.subtract": _OpsByElement("arith.subf", "arith.subi", "arith.subi", None, "sub"),
    "stablehlo.multiply": _OpsByElement(
        "arith.mulf", "arith.muli", "arith.muli", "arith.andi", "mult"
    ),
    "stablehlo.divide": _OpsByElement("arith.divf", "arith.divsi", "arith.divui", None, "div"),
    "stablehlo.maximum": _OpsByElement("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"),
    "stablehlo.minimum": _OpsByElement(
        "arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"
    ),
    "stablehlo.and": _bitwise("arith.andi"),
    "stablehlo.or": _bitwise("arith.ori"),
    "stablehlo.xor": _bitwise("arith.xori"),
    "stablehlo.shift_left": _bitwise("arith.shli"),
    "stablehlo.shift_right_arithmetic": _bitwise("arith.shrsi"),
    "stablehlo.shift_right_logical": _bitwise("arith.shrui"),
    "stablehlo.atan2": _on_floats("math.atan2"),
    "stablehlo.ceil": _on_floats("math.ceil"),
    "stablehlo.floor": _on_floats("math.floor"),
    "stablehlo.cosine": _on_floats("math.cos", "cos"),
    "stablehlo.sine": _on_floats("math.sin", "sin"),
    "stablehlo.tan": _on_floats("math.tan", "tan"),
    "stablehlo.tanh": _on_floats("math.tanh", "tanh"),
    "stablehlo.exponential": _on_floats("math.exp", "exp"),
    "stablehlo.exponential_minus_one": _on_floats("math.expm1"),
    "stablehlo.log": _on_floats("math.log", "log"),
    "stablehlo.log_plus_one": _on_floats("math.log1p"),
    "stablehlo.sqrt": _on_floats("math.sqrt", "sqrt"),
    "stablehlo.cbrt": _on_floats("math.cbrt"),
    "stablehlo.round_nearest_afz": _on_floats("math.round"),
    "stablehlo.round_nearest_even": _on_floats("math.roundeven"),
    "chlo.erf": _on_floats("math.erf"),
    "chlo.tan": _on_floats("math.tan"),
    "chlo.sinh": _on_floats("math.sinh"),
    "chlo.cosh": _on_floats("math.cosh"),
    "chlo.asin": _on_floats("math.asin"),
    "chlo.acos": _on_floats("math.acos"),
    "chlo.atan": _on_floats("math.atan"),
}
"""Ops that correspond to one arith or math op."""


def arithmetic_op(builder: Builder, op: TypedOp, name: str, operands: Sequence[Node]) -> Node:
    """Build the op that `name` denotes on the elements of `op`."""
    element = op.operands[-1].element
    found = ARITHMETIC_OPS[name].for_element(element)
    if found is None:
        raise op.unsupported(f"it is not defined on elements {element.name}")
    if found == "arith.mulf":
        for number, factor in enumerate(operands):
            if is_one(factor):
                return operands[1 - number]
    return builder.operation(found, operands, element.scalar)


def is_one(value: Node) -> bool:
    """Whether a value is the literal 1, by which multiplication changes no float."""
    number = value.number if isinstance(value, Constant) else None
    return isinstance(number, LiteralAttr) and number.number == 1


@lowers_elementwise(*ARITHMETIC_OPS)
def _lower_by_table(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return arithmetic_op(builder, op, op.name, operands)


def scalar_literal(builder: Builder, value: float, type: ScalarType) -> Node:
    return builder.literal(value, type)


@lowers_elementwise("stablehlo.negate")
def _negate(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    scalar = op.result.element.scalar
    if op.result.element.is_complex:
        return builder.operation("neg", operands, scalar)
    if op.result.element.is_float:
        return builder.operation("arith.negf", operands, scalar)
    return builder.operation("arith.subi", [scalar_literal(builder, 0, scalar), *operands], scalar)


@lowers_elementwise("stablehlo.not")
def _not(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return builder.operation("bitnot", operands, op.result.element.scalar)


@lowers_elementwise("stablehlo.abs")
def _abs(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    element = op.result.element
    if op.operands[0].element.is_complex:
        return builder.operation("abs", operands, element.scalar)
    if element.is_unsigned:
        return operands[0]
    return builder.operation("math.absf" if element.is_float else "math.absi", operands,
                             element.scalar)  # fmt: skip


@lowers_elementwise("stablehlo.sign")
def _sign(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    """Compute -1, 0 or 1; for a zero or NaN, the operand itself."""
    element, (x,) = op.result.element, operands
    one, zero = (scalar_literal(builder, value, element.scalar) for value in (1, 0))
    if element.is_float:
        unit = builder.operation("math.copysign", [one, x], element.scalar)
        same = builder.operation("arith.cmpf", [x, zero], i1, "ueq")
        return builder.select(same, x, unit)
    positive = builder.select(builder.compare("gt", x, zero), one, zero)
    if element.is_unsigned:
        return builder.select(builder.compare("ne", x, zero), one, zero)
    return builder.select(
        builder.compare("lt", x, zero), scalar_literal(builder, -1, element.scalar), positive
    )


@lowers_elementwise("stablehlo.complex", summary="`map` of a pair of floats")
def _complex(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return builder.operation("complex", operands, op.result.element.scalar)


@lowers_elementwise("stablehlo.real", summary="`map` of the first float of a pair")
def _real(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    if not op.operands[0].element.is_complex:
        return operands[0]
    return builder.operation("real", operands, op.result.element.scalar)


@lowers_elementwise("stablehlo.imag", summary="`map` of the second float of a pair")
def _imag(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    scalar = op.result.element.scalar
    if not op.operands[0].element.is_complex:
        return scalar_literal(builder, 0.0, scalar)
    return builder.operation("imag", operands, scalar)


@lowers_elementwise("stablehlo.rsqrt")
def _rsqrt(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    scalar = op.result.element.scalar
    root = builder.operation("math.sqrt", operands, scalar)
    return builder.operation("arith.divf", [scalar_literal(builder, 1.0, scalar), root], scalar)


@lowers_elementwise("stablehlo.logistic")
def _logistic(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    scalar = op.result.element.scalar
    one = scalar_literal(builder, 1.0, scalar)
    negated = builder.operation("arith.negf", operands, scalar)
    grown = builder.operation("math.exp", [negated], scalar)
    return builder.operation(
        "arith.divf", [one, builder.operation("arith.addf", [one, grown], scalar)], scalar
    )


@lowers_elementwise("stablehlo.is_finite")
def _is_finite(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    scalar = op.operands[0].element.scalar
    size = builder.operation("math.absf", operands, scalar)
    return builder.compare("lt", size, scalar_literal(builder, math.inf, scalar))


@lowers_elementwise("stablehlo.select")
def _select(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return builder.select(*operands)


@lowers_elementwise("stablehlo.clamp", summary="an elementwise `map`, with `min` and `max`")
def _clamp(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    least, x, most = operands
    raised = arithmetic_op(builder, op, "stablehlo.maximum", [least, x])
    return arithmetic_op(builder, op, "stablehlo.minimum", [raised, most])


@lowers_elementwise("stablehlo.compare")
def _compare(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    element = op.operands[0].element
    relation = op.attributes["comparison_direction"].lower()
    if element.is_complex:
        return builder.compare(relation, *operands)
    if element.is_float and op.attributes.get("compare_type") != "TOTALORDER":
        return builder.compare(relation, *operands)
    return compare_elements(builder, relation, element, *operands)


def compare_elements(
    builder: Builder, relation: str, element: ElementType, left: Node, right: Node
) -> Node:
    """Compare two elements; floats are compared in total order."""
    if element.is_float:
        return _total_order(builder, relation, element, left, right)
    sign = "u" if element.is_unsigned else "s"
    predicate = relation if relation in ("eq", "ne") else f"{sign}{relation}"
    return builder.operation("arith.cmpi", [left, right], i1, predicate)


def _total_order(
    builder: Builder, relation: str, element: ElementType, left: Node, right: Node
) -> Node:
    """Compare in total order: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    keys = [_total_order_key(builder, element.scalar, each) for each in (left, right)]
    predicate = relation if relation in ("eq", "ne") else f"s{relation}"
    return builder.operation("arith.cmpi", keys, i1, predicate)


def _total_order_key(builder: Builder, scalar: ScalarType, value: Node) -> Node:
    """Return the bits of a float, which of a negative one are inverted, except for the sign."""
    width = bit_width(scalar)
    integer = SIGNED_TYPES[width]
    bits = builder.operation("arith.bitcast", [value], integer)
    shift, all_but_sign = (
        scalar_literal(builder, number, integer) for number in (width - 1, (1 << (width - 1)) - 1)
    )
    sign = builder.operation("arith.shrsi", [bits, shift], integer)
    flipped = builder.operation("arith.andi", [sign, all_but_sign], integer)
    return builder.operation("arith.xori", [bits, flipped], integer)


@lowers_elementwise("stablehlo.convert")
def _convert(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    """Convert to another type; that of a complex number to floats or integers is its real part."""
    (value,), source = operands, op.operands[0].element
    if source.is_complex and not op.result.element.is_complex:
        value = builder.operation("real", [value], source.scalar.part)
    return builder.convert(value, op.result.element.scalar)


@lowers_elementwise("stablehlo.reduce_precision", summary="`map` of two casts")
def _reduce_precision(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    """Round to the precision of an existing float type."""
    from riselang.dialects.rise.types import bf16, f16

    element = op.result.element
    bits = op.integer("exponent_bits"), op.integer("mantissa_bits")
    types = {(5, 10): f16, (8, 7): bf16, (8, 23): f32, (11, 52): f64}
    if bits not in types:
        raise op.unsupported(f"{bits[0]} exponent and {bits[1]} mantissa bits are not a float type")
    if bit_width(types[bits]) >= bit_width(element.scalar):
        return operands[0]
    return builder.convert(builder.convert(operands[0], types[bits]), element.scalar)
