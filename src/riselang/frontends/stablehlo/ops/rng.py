"""`rng`: random numbers of a distribution, from Philox bits.

Note [Numbers of rng]: StableHLO leaves the random numbers of `rng` to the implementation. Here they
depend on the module alone: the n-th `rng` of a program, counted from 0, takes the Philox bits of
the key n. A program has no state that persists between calls, so each call gives the same numbers;
where each iteration of a loop would draw the same ones, the op is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod

from riselang.dialects.rise.types import ScalarType, f32, f64, i1, i64, u64
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, TensorType
from riselang.frontends.stablehlo.ops.bitwise import bitcast_scalar
from riselang.frontends.stablehlo.ops.data_movement import reshape_tensor
from riselang.frontends.stablehlo.ops.random_bits import WordArithmetic
from riselang.frontends.stablehlo.ops.rng_bit_generator import philox_bits
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, whole_tensor, zero_tensor
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node
from riselang.term.conversion import bit_width

FRACTION_BITS = {f32: 24, f64: 53}
"""The number of random bits of a float in [0, 1)."""


@lowers_op("stablehlo.rng", summary="`map` over Philox bits; the same values at each call")
def _rng(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder, (first, second) = regions.builder, operands[:2]
    element, shape = op.result.element, op.result.shape
    kind = op.attributes["rng_distribution"]
    draw = _DRAWS.get((kind, element.is_float))
    if draw is None or element.is_boolean:
        raise op.unsupported(f"elements {element.name} have no {kind.lower()} distribution")
    if op.stream is None:
        raise op.unsupported(
            "it is in a region, each iteration of which would draw the same numbers",
            "draw them before, or pass rng_bit_generator a state that each iteration updates",
        )
    if 0 in shape:
        return zero_tensor(builder, element, shape)
    drawn = draw(builder, op.stream, op.result, first.make(), second.make())
    return reshape_tensor(builder, whole_tensor(element, (prod(shape),), drawn), shape)


def _philox_words(builder: Builder, stream: int, count: int, element: str) -> Node:
    words = WordArithmetic(builder)
    key, zero = (words.word_literal(each, u64) for each in (stream, 0))
    return philox_bits(words, key, zero, zero, TensorType((count,), ELEMENT_TYPES[element]))[
        1
    ].make()


def _uniform_integers(
    builder: Builder, stream: int, type: TensorType, least: Node, end: Node
) -> Node:
    """Take 64 bits modulo the length of the interval: uniform up to a bias of 2^-32."""
    element, words = type.element, WordArithmetic(builder)
    wide = u64 if element.is_unsigned else i64
    low, high = (bitcast_scalar(builder, builder.convert(each, wide), u64) for each in (least, end))
    length = words.apply_op("subi", high, low)

    def number(bits: Node) -> Node:
        rest = words.apply_op("remui", bits, length)
        return builder.convert(words.add(low, rest), element.scalar)

    return builder.map(number, _philox_words(builder, stream, prod(type.shape), "ui64"))


def _uniform_floats(
    builder: Builder, stream: int, type: TensorType, least: Node, end: Node
) -> Node:
    """Compute least (1 - u) + end u for u in [0, 1); a result rounded out of the interval is its
    start."""
    scalar, working = type.element.scalar, _working_type(type)
    low, high = (builder.convert(each, working) for each in (least, end))

    def number(word: Node) -> Node:
        share = _uniform_fraction(builder, word, working)
        rest = builder.operation("arith.subf", [builder.literal(1.0, working), share], working)
        parts = [
            builder.operation("arith.mulf", [low, rest], working),
            builder.operation("arith.mulf", [high, share], working),
        ]
        found = builder.convert(builder.operation("arith.addf", parts, working), scalar)
        bounds = [builder.compare("ge", found, least), builder.compare("lt", found, end)]
        return builder.select(builder.operation("arith.andi", bounds, i1), found, least)

    return builder.map(
        number, _philox_words(builder, stream, prod(type.shape), _word_type(working))
    )


def _normal_floats(
    builder: Builder, stream: int, type: TensorType, mean: Node, deviation: Node
) -> Node:
    """Use the Box-Muller transform: of two numbers in [0, 1), one for the length, one for the
    angle."""
    working, count = _working_type(type), prod(type.shape)
    words = builder.store_if_computed(
        _philox_words(builder, stream, 2 * count, _word_type(working))
    )
    centre, spread = (builder.convert(each, working) for each in (mean, deviation))

    def operation(name: str, *operands: Node) -> Node:
        return builder.operation(name, operands, working)

    def number(pair: Node) -> Node:
        share, turn = (
            _uniform_fraction(builder, each, working) for each in builder.unpack_tuple(pair, 2)
        )
        left = operation("arith.subf", builder.literal(1.0, working), share)
        squared = operation(
            "arith.mulf", builder.literal(-2.0, working), operation("math.log", left)
        )
        angle = operation("arith.mulf", builder.literal(2 * math.pi, working), turn)
        drawn = operation(
            "arith.mulf", operation("math.sqrt", squared), operation("math.cos", angle)
        )
        moved = operation("arith.addf", centre, operation("arith.mulf", spread, drawn))
        return builder.convert(moved, type.element.scalar)

    halves = builder.zip(builder.take(count, words), builder.drop(count, words))
    return builder.map(number, halves)


def _working_type(type: TensorType) -> ScalarType:
    """Return the type in which numbers are computed."""
    return f64 if type.element.scalar == f64 else f32


def _word_type(working: ScalarType) -> str:
    return f"ui{bit_width(working)}"


def _uniform_fraction(builder: Builder, word: Node, working: ScalarType) -> Node:
    """Return the leading bits of a word as a number in [0, 1), exactly."""
    digits = FRACTION_BITS[working]
    kept = WordArithmetic(builder).apply_op("shrui", word, bit_width(working) - digits)
    number = builder.convert(kept, working)
    scale = builder.literal(2.0**-digits, working)
    return builder.operation("arith.mulf", [number, scale], working)


Draw = Callable[[Builder, int, TensorType, Node, Node], Node]
_DRAWS: dict[tuple[str, bool], Draw] = {
    ("UNIFORM", True): _uniform_floats,
    ("UNIFORM", False): _uniform_integers,
    ("NORMAL", True): _normal_floats,
}
