"""Suggestions for names that are not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MIN_SIMILARITY = 0.65
"""How similar a suggested name is at least, as `difflib` measures it."""


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the name that was probably meant: one with the same letters, or a similar one."""
    names = list(known)
    letters = sorted(name.lower())
    for candidate in names:
        if sorted(candidate.lower()) == letters:
            return candidate
    return next(iter(get_close_matches(name, names, 1, MIN_SIMILARITY)), None)
