"""Strategies that users pass: the text itself, or the name of a file with the text."""

from __future__ import annotations

from pathlib import Path

from riselang.rewrite.core import Strategy
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from riselang.support.io import decode_text

EXTENSION = ".strategy"
"""The file name extension of strategy files."""


def read_strategy(given: str) -> Strategy:
    """Parse a strategy from text, or from a file if the text has the extension of one."""
    if not given.strip().endswith(EXTENSION):
        return parse_strategy(given)
    path = given.strip()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"the strategy {path} cannot be read: {error.strerror}") from None
    return parse_strategy(decode_text(data, path), path)
