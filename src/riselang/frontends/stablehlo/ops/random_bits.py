"""Counter-based random bits: ThreeFry and Philox (Salmon et al., SC 2011), as XLA numbers them.

A block cipher with a key encrypts a counter. This module has the ciphers, on scalars, and XLA's
split of a state of 64-bit words into key and counter; `rng_bit_generator.py` assigns words to the
elements of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, i1, i32, i64
from riselang.frontends.building import Builder
from riselang.term.build import Node
from riselang.term.conversion import width

THREE_FRY_PARITY = 0x1BD11BDA
THREE_FRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREE_FRY_GROUPS = 5
"""Groups of four cipher rounds, each of which ends by adding a part of the key."""
PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)
PHILOX_STEPS = (0x9E3779B9, 0xBB67AE85)
"""The increments of the key after each cipher round."""
PHILOX_ROUNDS = 10


@dataclass(frozen=True)
class Words:
    """Wrapping arithmetic on 32-bit and 64-bit words."""

    builder: Builder

    def literal(self, number: int, type: ScalarType) -> Node:
        """Return a literal word with these bits."""
        return self.builder.literal(number % (1 << width(type)), type)

    def operation(self, name: str, left: Node, right: Node | int) -> Node:
        assert isinstance(left.type, ScalarType)
        other = self.literal(right, left.type) if isinstance(right, int) else right
        return self.builder.operation(f"arith.{name}", [left, other], left.type)

    def add(self, left: Node, right: Node | int) -> Node:
        return self.operation("addi", left, right)

    def xor(self, left: Node, right: Node | int) -> Node:
        return self.operation("xori", left, right)

    def rotated(self, word: Node, count: int) -> Node:
        left, right = self.operation("shli", word, count), self.operation("shrui", word, 32 - count)
        return self.operation("ori", left, right)

    def low(self, wide: Node) -> Node:
        return self.builder.convert(wide, i32)

    def high(self, wide: Node) -> Node:
        return self.low(self.operation("shrui", wide, 32))

    def halves(self, wide: Node) -> tuple[Node, Node]:
        """Return the low and the high word."""
        return self.low(wide), self.high(wide)

    def wide(self, word: Node) -> Node:
        return self.builder.operation("arith.extui", [word], i64)

    def joined(self, low: Node, high: Node) -> Node:
        """Return the 64-bit word of two halves."""
        return self.operation("ori", self.wide(low), self.operation("shli", self.wide(high), 32))

    def carried(self, low: Node, high: Node, count: Node) -> tuple[Node, Node]:
        """Add a number to a 128-bit word given as two halves."""
        total = self.add(low, count)
        wraps = self.builder.operation("arith.cmpi", [total, count], i1, "ult")
        return total, self.builder.select(wraps, self.add(high, 1), high)


def three_fry(words: Words, key: Node, counter: Node) -> list[Node]:
    """Return two words for a 64-bit key and a 64-bit counter."""
    first, second = words.halves(key)
    parity = words.xor(words.xor(first, second), THREE_FRY_PARITY)
    keys = (first, second, parity)
    left, right = words.halves(counter)
    left, right = words.add(left, first), words.add(right, second)
    for group in range(1, THREE_FRY_GROUPS + 1):
        for count in THREE_FRY_ROTATIONS[(group - 1) % 2]:
            left = words.add(left, right)
            right = words.xor(words.rotated(right, count), left)
        left = words.add(left, keys[group % 3])
        right = words.add(words.add(right, keys[(group + 1) % 3]), group)
    return [left, right]


def philox(words: Words, key: Node, low: Node, high: Node) -> list[Node]:
    """Return four words for a 64-bit key and a 128-bit counter given as two halves."""
    keys = words.halves(key)
    state = [*words.halves(low), *words.halves(high)]
    for number in range(PHILOX_ROUNDS):
        first, second = (
            words.add(part, number * step) if number else part
            for part, step in zip(keys, PHILOX_STEPS, strict=True)
        )
        products = [
            words.operation("muli", words.wide(part), factor)
            for part, factor in zip(state[::2], PHILOX_FACTORS, strict=True)
        ]
        (low0, high0), (low1, high1) = map(words.halves, products)
        state = [
            words.xor(words.xor(high1, state[1]), first), low1,
            words.xor(words.xor(high0, state[3]), second), low0,
        ]  # fmt: skip
    return state


def in_wide_words(words: Words, parts: Sequence[Node]) -> list[Node]:
    """Combine pairs of 32-bit words into 64-bit words."""
    return [words.joined(low, high) for low, high in zip(parts[::2], parts[1::2], strict=True)]
