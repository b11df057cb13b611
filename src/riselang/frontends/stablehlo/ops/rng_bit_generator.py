"""`rng_bit_generator` as patterns, with the same bits as XLA on CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from riselang.dialects.rise.types import index, u64
from riselang.frontends.stablehlo.elements import ElementType, TensorType
from riselang.frontends.stablehlo.ops.bitwise import WORD_TYPES, bitcast_scalar
from riselang.frontends.stablehlo.ops.data_movement import reshape_tensor
from riselang.frontends.stablehlo.ops.random_bits import (
    WordArithmetic,
    combine_words,
    philox_block,
    three_fry_block,
)
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, materialize, whole_tensor, zero_tensor
from riselang.frontends.term_builder import Builder, length_of
from riselang.term.build import Node
from riselang.term.conversion import bit_width

CounterBlock = Callable[[Node], list[Node]]
"""The words that a counter value is encrypted to."""
STATE_SIZES = {"THREE_FRY": (2,), "PHILOX": (2, 3), "DEFAULT": (2, 3)}
"""The number of words of each algorithm's state; XLA's default on CPUs is Philox."""


@lowers_op(
    "stablehlo.rng_bit_generator", summary="`generate` of the bits of ThreeFry or Philox, as in XLA"
)
def _rng_bit_generator(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]
) -> list[Tensor]:
    builder, words = regions.builder, WordArithmetic(regions.builder)
    (state,), algorithm, result = operands, op.attributes["rng_algorithm"], op.results[1]
    counts = STATE_SIZES.get(algorithm, ())
    if op.operands[0].element.name != "ui64" or state.rank != 1 or state.size not in counts:
        expected = f"{' or '.join(map(str, counts))} elements ui64"
        raise op.unsupported(f"expected a state of {expected}, but found {op.operands[0]}")
    kept = builder.store_if_computed(materialize(builder, state))
    given = [_element_at(builder, kept, number) for number in range(state.size)]
    if algorithm == "THREE_FRY":
        count, bits = _three_fry_bits(words, given, result)
        last = [given[0], words.add(given[1], count)]
    else:
        # If it has no word of its own, the high half of the counter is the key.
        low, high = given[1], given[2] if state.size == 3 else given[0]
        count, bits = philox_bits(words, given[0], low, high, result)
        carried = words.add_with_carry(low, high, words.word_literal(count, u64))
        last = [given[0], *carried][: state.size]
    return [whole_tensor(state.element, state.shape, _array_of(builder, last)), bits]


def _three_fry_bits(
    words: WordArithmetic, state: Sequence[Node], type: TensorType
) -> tuple[int, Tensor]:
    """Return the number of encrypted counters, and a tensor of bits.

    A counter gives one element of 64 bits, or two smaller ones, which are neighbors along one
    dimension.
    """
    key, start = state

    def block(number: Node) -> list[Node]:
        return three_fry_block(words, key, words.add(start, number))

    if _is_wide(type.element):
        bits = _interleave_blocks(
            words, prod(type.shape), lambda at: combine_words(words, block(at))
        )
        return prod(type.shape), _to_tensor(words, bits, type)
    before, length, after = _pair_dimension(type.shape)
    count = before * -(-length // 2) * after
    bits = _interleave_blocks(words, count, block, after)
    # Excess elements are at the end of each row.
    return count, _to_tensor(words, bits, type, (before, -(-length // 2) * 2, after), length)


def _pair_dimension(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return the dimension of the pairs, and the number of elements before and after it.

    It is the first of even length, or else the first of the longest ones.
    """
    if not shape:
        return 1, 1, 1
    even = [k for k, length in enumerate(shape) if length % 2 == 0]
    position = even[0] if even else shape.index(max(shape))
    return prod(shape[:position]), shape[position], prod(shape[position + 1 :])


def philox_bits(
    words: WordArithmetic, key: Node, low: Node, high: Node, type: TensorType
) -> tuple[int, Tensor]:
    """Return the number of encrypted counters, and a tensor of bits: all of one counter, then the
    next."""

    def block(number: Node) -> list[Node]:
        found = philox_block(words, key, *words.add_with_carry(low, high, number))
        return combine_words(words, found) if _is_wide(type.element) else found

    size, per_number = prod(type.shape), 2 if _is_wide(type.element) else 4
    count = -(-size // per_number)
    bits = _interleave_blocks(words, count, block)
    return count, _to_tensor(words, bits, type, (1, count * per_number, 1), size)


def _is_wide(element: ElementType) -> bool:
    return bit_width(element.scalar) == 64


def _interleave_blocks(
    words: WordArithmetic, count: int, block: CounterBlock, run: int = 1
) -> Node | None:
    """Return the words of all blocks in one array: `run` first words, as many second ones, and so
    on."""
    builder, sizes = words.builder, list[int]()
    if count == 0:
        return None

    def encrypt(i: Node) -> Node:
        parts = block(builder.convert(builder.from_idx(i, count), u64))
        sizes.append(len(parts))
        return builder.tuple(parts)

    made = builder.generate(count, encrypt)
    (size,) = sizes
    if size == 1:
        return made
    blocks = builder.to_mem(made)
    rows = [
        builder.split(run, count // run, builder.map(_word_range(builder, number, size), blocks))
        for number in range(size)
    ]
    stacked = builder.split(count // run, 1, rows[0])
    for row in rows[1:]:
        stacked = builder.concat(stacked, builder.split(count // run, 1, row))
    return builder.join(builder.join(builder.transpose(stacked)))


def _word_range(builder: Builder, number: int, count: int) -> Callable[[Node], Node]:
    return lambda each: builder.unpack_tuple(each, count)[number]


def _to_tensor(
    words: WordArithmetic,
    bits: Node | None,
    type: TensorType,
    whole_shape: tuple[int, int, int] | None = None,
    length: int = 0,
) -> Tensor:
    """Return the tensor of words that were generated in a shape of which only `length` rows are
    used."""
    builder = words.builder
    if bits is None:
        return zero_tensor(builder, type.element, type.shape)
    node = builder.map(lambda word: _low_bits(words, word, type.element), bits)
    if whole_shape is None:
        return reshape_tensor(
            builder, whole_tensor(type.element, (prod(type.shape),), node), type.shape
        )
    before, made, after = whole_shape
    rows = builder.split(made, before, builder.split(after, before * made, node))
    kept = builder.map(lambda row: builder.take(length, row), rows)
    return reshape_tensor(
        builder, whole_tensor(type.element, (before, length, after), kept), type.shape
    )


def _low_bits(words: WordArithmetic, word: Node, element: ElementType) -> Node:
    """Return the low bits of a word as an element."""
    integer = WORD_TYPES[bit_width(element.scalar)]
    return bitcast_scalar(words.builder, words.builder.convert(word, integer), element.scalar)


def _element_at(builder: Builder, xs: Node, number: int) -> Node:
    return builder.at(builder.clamp_idx(length_of(xs), builder.literal(number, index)), xs)


def _array_of(builder: Builder, scalars: Sequence[Node]) -> Node:
    result, *rest = (builder.generate(1, lambda _, each=each: each) for each in scalars)
    for each in rest:
        result = builder.concat(result, each)
    return result
