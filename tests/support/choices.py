"""A source of small choices, from hypothesis (which shrinks them) or from a plain generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices:
    """Choices below a bound; 0 is always the simplest, so that hypothesis shrinks towards it."""

    def __init__(self, below: Callable[[int], int]):
        self.below = below

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))] if len(options) > 1 else options[0]

    def one_in(self, count: int) -> bool:
        """True about once in `count` times; the simple case is False."""
        return self.below(count) == count - 1

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, each with its weight; the first is the simplest."""
        left = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if left < weight:
                return option
            left -= weight
        raise AssertionError("the weights are used up")


@cache
def _below(bound: int) -> st.SearchStrategy[int]:
    return st.integers(0, bound - 1)


def drawn(draw: Callable[[st.SearchStrategy[int]], int]) -> Choices:
    """Choices that hypothesis makes."""
    return Choices(lambda bound: draw(_below(bound)))


def seeded(seed: int) -> Choices:
    """Choices that follow from a seed."""
    source = random.Random(seed)
    return Choices(source.randrange)
