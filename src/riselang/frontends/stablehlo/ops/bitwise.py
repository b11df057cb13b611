"""Bitwise ops, and arithmetic that needs a loop: integer powers and float remainders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from riselang.dialects.rise.types import ScalarType, i1, u8, u16, u32, u64
from riselang.frontends.stablehlo.elements import ElementType
from riselang.frontends.stablehlo.registry import (
    RegionLowering,
    TypedOp,
    lowers_elementwise,
    lowers_op,
)
from riselang.frontends.stablehlo.tensors import Tensor, materialize, whole_tensor
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node
from riselang.term.conversion import bit_width

WORD_TYPES = {8: u8, 16: u16, 32: u32, 64: u64}
"""The integer type for each number of bits."""
BITCAST_PARTS = "stablehlo.bitcast_convert (to more or fewer bits)"
"""The name of the op if it adds or removes a dimension for the parts of elements."""


@lowers_elementwise("stablehlo.bitcast_convert", summary="`map` of a bitcast")
def _bitcast_convert(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    source, target = op.operands[0].element, op.result.element
    if source.is_boolean != target.is_boolean:
        raise op.unsupported(f"from {source.name} to {target.name} the number of bits changes")
    return bitcast_scalar(builder, operands[0], target.scalar)


def bitcast_scalar(builder: Builder, value: Node, type: ScalarType) -> Node:
    """Bitcast a scalar."""
    return value if value.type == type else builder.operation("arith.bitcast", [value], type)


@lowers_op(
    BITCAST_PARTS, summary="for each element, `generate` of shifted bits, or `reduce` over them"
)
def _bitcast_parts(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    source, target = op.operands[0].element, op.result.element
    sizes = [bit_width(each.scalar) for each in (source, target)]
    if source.is_boolean or target.is_boolean:
        raise op.unsupported(f"from {source.name} to {target.name} the number of bits changes")
    builder, node = regions.builder, materialize(regions.builder, operands[0])
    wide, narrow = WORD_TYPES[max(sizes)], WORD_TYPES[min(sizes)]
    cast = partial(bitcast_scalar, builder, type=target.scalar)

    def shift(i: Node) -> Node:
        number = builder.from_idx(i, max(sizes) // min(sizes))
        amount = builder.convert(number, wide)
        return builder.operation("arith.muli", [amount, builder.literal(min(sizes), wide)], wide)

    def apart(value: Node) -> Node:
        bits = bitcast_scalar(builder, value, wide)

        def part(i: Node) -> Node:
            shifted = builder.operation("arith.shrui", [bits, shift(i)], wide)
            return cast(builder.convert(shifted, narrow))

        return builder.generate(max(sizes) // min(sizes), part)

    def together(parts: Node) -> Node:
        def joined(total: Node, pair: Node) -> Node:
            amount, part = builder.unpack_tuple(pair, 2)
            grown = builder.convert(bitcast_scalar(builder, part, narrow), wide)
            moved = builder.operation("arith.shli", [grown, amount], wide)
            return builder.operation("arith.ori", [total, moved], wide)

        shifts = builder.generate(max(sizes) // min(sizes), shift)
        return cast(builder.reduce(joined, builder.literal(0, wide), builder.zip(shifts, parts)))

    # The lowest bits come first.
    change = apart if sizes[0] > sizes[1] else together
    depth = min(len(op.operands[0].shape), len(op.result.shape))
    return whole_tensor(target, op.result.shape, builder.map_at(depth, change, node))


@lowers_elementwise("stablehlo.popcnt")
def _popcnt(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return builder.operation("math.ctpop", operands, op.result.element.scalar)


@lowers_elementwise("stablehlo.count_leading_zeros")
def _count_leading_zeros(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    return builder.operation("math.ctlz", operands, op.result.element.scalar)


def _shifted_values(builder: Builder, scalar: ScalarType, value: Node) -> Node:
    """Return an array of a value shifted to the right by 0, 1, ... bits."""
    count = bit_width(scalar)

    def shifted(i: Node) -> Node:
        amount = builder.convert(builder.from_idx(i, count), scalar)
        return builder.operation("arith.shrui", [value, amount], scalar)

    return builder.generate(count, shifted)


@lowers_elementwise(
    "stablehlo.power", summary="`map` of `pow`; for integers, of a `reduce` over the bits"
)
def _power(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    element = op.result.element
    if element.is_float:
        return builder.operation("math.powf", operands, element.scalar)
    if element.is_complex:
        return builder.operation("pow", operands, element.scalar)
    if element.is_boolean:
        raise op.unsupported("Booleans have no powers")
    return _integer_power(builder, element, *operands)


def _integer_power(builder: Builder, element: ElementType, base: Node, exponent: Node) -> Node:
    """Compute the power by repeated squaring, with a factor for each bit of the exponent."""
    scalar = element.scalar
    one, zero = builder.literal(1, scalar), builder.literal(0, scalar)

    def step(state: Node, shifted: Node) -> Node:
        square, product = builder.unpack_tuple(state, 2)
        bit = builder.operation("arith.andi", [shifted, one], scalar)
        multiplied = builder.operation("arith.muli", [product, square], scalar)
        return builder.pair(
            builder.operation("arith.muli", [square, square], scalar),
            builder.select(builder.compare("ne", bit, zero), multiplied, product),
        )

    shifts = _shifted_values(builder, scalar, exponent)
    product = builder.unpack_tuple(builder.reduce(step, builder.pair(base, one), shifts), 2)[1]
    if element.is_unsigned:
        return product
    # With negative exponents only the powers of 1 and -1 are integers; others are truncated to 0.
    size = builder.operation("math.absi", [base], scalar)
    unit = builder.select(builder.compare("eq", size, one), product, zero)
    return builder.select(builder.compare("lt", exponent, zero), unit, product)


@lowers_elementwise(
    "stablehlo.remainder", summary="an elementwise `map`, for floats with a `while`"
)
def _remainder(builder: Builder, op: TypedOp, operands: Sequence[Node]) -> Node:
    element = op.result.element
    if element.is_float:
        return _float_remainder(builder, element.scalar, *operands)
    name = "arith.remui" if element.is_unsigned else "arith.remsi"
    return builder.operation(name, operands, element.scalar)


def _float_remainder(builder: Builder, scalar: ScalarType, left: Node, right: Node) -> Node:
    """Compute the remainder exactly, subtracting multiples of |right| by powers of two from
    |left|."""
    size, divisor = (builder.operation("math.absf", [each], scalar) for each in (left, right))
    infinity, zero = (builder.literal(value, scalar) for value in (math.inf, 0.0))
    is_defined = builder.operation(
        "arith.andi",
        [builder.compare("lt", size, infinity), builder.compare("gt", divisor, zero)],
        i1,
    )
    half = builder.literal(0.5, scalar)

    def largest_multiple(rest: Node) -> Node:
        return builder.while_(
            lambda multiple: builder.compare(
                "le", multiple, builder.operation("arith.mulf", [rest, half], scalar)
            ),
            lambda multiple: builder.operation("arith.addf", [multiple, multiple], scalar),
            divisor,
        )

    rest = builder.while_(
        lambda rest: builder.compare("ge", rest, divisor),
        lambda rest: builder.operation("arith.subf", [rest, largest_multiple(rest)], scalar),
        builder.select(is_defined, size, builder.literal(-1.0, scalar)),
    )
    signed = builder.operation("math.copysign", [rest, left], scalar)
    return builder.select(is_defined, signed, builder.literal(math.nan, scalar))
