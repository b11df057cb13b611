"""Counter-based random bits: ThreeFry and Philox (Salmon et al., SC 2011), as XLA numbers them.

A block cipher with a key encrypts a counter. This module has the ciphers, on scalars, and XLA's
split of a state of 64-bit words into key and counter; `rng_bit_generator.py` assigns words to the
elements of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, i1, u32, u64
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node
from riselang.term.conversion import bit_width

THREE_FRY_PARITY = 0x1BD11BDA
THREE_FRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREE_FRY_GROUPS = 5
"""Groups of four cipher rounds, each of which ends by adding a part of the key."""
PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)
PHILOX_STEPS = (0x9E3779B9, 0xBB67AE85)
"""The increments of the key after each cipher round."""
PHILOX_ROUNDS = 10


@dataclass(frozen=True)
class WordArithmetic:
    """Wrapping arithmetic on 32-bit and 64-bit words."""

    builder: Builder

    def word_literal(self, number: int, type: ScalarType) -> Node:
        """Return a literal word with these bits."""
        return self.builder.literal(number % (1 << bit_width(type)), type)

    def apply_op(self, name: str, left: Node, right: Node | int) -> Node:
        assert isinstance(left.type, ScalarType)
        other = self.word_literal(right, left.type) if isinstance(right, int) else right
        return self.builder.operation(f"arith.{name}", [left, other], left.type)

    def add(self, left: Node, right: Node | int) -> Node:
        return self.apply_op("addi", left, right)

    def xor(self, left: Node, right: Node | int) -> Node:
        return self.apply_op("xori", left, right)

    def rotate_left(self, word: Node, count: int) -> Node:
        left, right = self.apply_op("shli", word, count), self.apply_op("shrui", word, 32 - count)
        return self.apply_op("ori", left, right)

    def low_word(self, wide: Node) -> Node:
        return self.builder.convert(wide, u32)

    def high_word(self, wide: Node) -> Node:
        return self.low_word(self.apply_op("shrui", wide, 32))

    def split_halves(self, wide: Node) -> tuple[Node, Node]:
        """Return the low and the high word."""
        return self.low_word(wide), self.high_word(wide)

    def widen(self, word: Node) -> Node:
        return self.builder.convert(word, u64)

    def join_halves(self, low: Node, high: Node) -> Node:
        """Return the 64-bit word of two halves."""
        return self.apply_op("ori", self.widen(low), self.apply_op("shli", self.widen(high), 32))

    def add_with_carry(self, low: Node, high: Node, count: Node) -> tuple[Node, Node]:
        """Add a number to a 128-bit word given as two halves."""
        total = self.add(low, count)
        wraps = self.builder.operation("arith.cmpi", [total, count], i1, "ult")
        return total, self.builder.select(wraps, self.add(high, 1), high)


def three_fry_block(words: WordArithmetic, key: Node, counter: Node) -> list[Node]:
    """Return two words for a 64-bit key and a 64-bit counter."""
    first, second = words.split_halves(key)
    parity = words.xor(words.xor(first, second), THREE_FRY_PARITY)
    keys = (first, second, parity)
    left, right = words.split_halves(counter)
    left, right = words.add(left, first), words.add(right, second)
    for group in range(1, THREE_FRY_GROUPS + 1):
        for count in THREE_FRY_ROTATIONS[(group - 1) % 2]:
            left = words.add(left, right)
            right = words.xor(words.rotate_left(right, count), left)
        left = words.add(left, keys[group % 3])
        right = words.add(words.add(right, keys[(group + 1) % 3]), group)
    return [left, right]


def philox_block(words: WordArithmetic, key: Node, low: Node, high: Node) -> list[Node]:
    """Return four words for a 64-bit key and a 128-bit counter given as two halves."""
    keys = words.split_halves(key)
    state = [*words.split_halves(low), *words.split_halves(high)]
    for number in range(PHILOX_ROUNDS):
        first, second = (
            words.add(part, number * step) if number else part
            for part, step in zip(keys, PHILOX_STEPS, strict=True)
        )
        products = [
            words.apply_op("muli", words.widen(part), factor)
            for part, factor in zip(state[::2], PHILOX_FACTORS, strict=True)
        ]
        (low0, high0), (low1, high1) = map(words.split_halves, products)
        state = [
            words.xor(words.xor(high1, state[1]), first), low1,
            words.xor(words.xor(high0, state[3]), second), low0,
        ]  # fmt: skip
    return state


def combine_words(words: WordArithmetic, parts: Sequence[Node]) -> list[Node]:
    """Combine pairs of 32-bit words into 64-bit words."""
    return [words.join_halves(low, high) for low, high in zip(parts[::2], parts[1::2], strict=True)]
