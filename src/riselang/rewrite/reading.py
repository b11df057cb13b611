"""Strategies as they are given: the text itself, or a file that holds it."""

from __future__ import annotations

from pathlib import Path

from riselang.rewrite.core import Strategy
from riselang.rewrite.text import parse_strategy
from riselang.support.errors import UserError
from riselang.support.io import decode

ENDING = ".strategy"
"""What the names of files with strategies end in."""


def read_strategy(given: str) -> Strategy:
    """The strategy of a text, or of the file that it names by its ending."""
    if not given.strip().endswith(ENDING):
        return parse_strategy(given)
    path = given.strip()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"the strategy {path} cannot be read: {error.strerror}") from None
    return parse_strategy(decode(data, path), path)
