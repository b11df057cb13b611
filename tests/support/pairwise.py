"""Combinations of choices in which every two choices occur together, instead of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

from support.fuzzing import IS_NIGHTLY

Combination = tuple[Any, ...]
Pair = tuple[int, int, int, int]
"""The positions of two lists, and the position of a choice in each."""


def pairwise(*lists: Iterable[Any]) -> list[Combination]:
    """Few combinations, one element of each list, that have every pair of two lists' elements."""
    choices = [list(each) for each in lists]
    candidates = list(product(*(range(len(each)) for each in choices)))
    missing = {pair for candidate in candidates for pair in _pairs(candidate)}
    chosen: list[Combination] = []
    while missing:
        best = max(candidates, key=lambda candidate: len(_pairs(candidate) & missing))
        missing -= _pairs(best)
        chosen.append(tuple(each[at] for each, at in zip(choices, best, strict=True)))
    return chosen


def combined(*lists: Iterable[Any]) -> list[Combination]:
    """All combinations of choices at night, and otherwise those that have every pair."""
    return list(product(*lists)) if IS_NIGHTLY else pairwise(*lists)


def each_once(*lists: Iterable[Any]) -> list[Combination]:
    """All combinations of choices at night, and otherwise a few in which every choice occurs."""
    choices = [list(each) for each in lists]
    if IS_NIGHTLY:
        return list(product(*choices))
    # Lists of one length do not go round together: each is shifted after every round.
    return [
        tuple(
            each[(at + place * (at // len(each))) % len(each)] for place, each in enumerate(choices)
        )
        for at in range(max(len(each) for each in choices))
    ]


def _pairs(candidate: Sequence[int]) -> set[Pair]:
    places = list(enumerate(candidate))
    return {(*one, *other) for one, other in combinations(places, 2)}
