"""A source of small choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Choices that follow from a seed."""

    def __init__(self, seed: int):
        self.below = random.Random(seed).randrange

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))] if len(options) > 1 else options[0]

    def one_in(self, count: int) -> bool:
        """True about once in `count` times."""
        return self.below(count) == 0

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in any order."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in options]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, each with its weight."""
        left = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if left < weight:
                return option
            left -= weight
        raise AssertionError("the weights are used up")
