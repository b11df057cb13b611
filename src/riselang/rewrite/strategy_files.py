"""Strategies that users pass: the text itself, or the name of a file with the text."""

from __future__ import annotations

import os
from pathlib import Path

from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
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
    text = decode_text(data, path)
    # The default strategy has no name in the language of strategies, since it takes whole programs.
    return DEFAULT if _without_comments(text) == str(DEFAULT) else parse_strategy(text, path)


def _without_comments(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def check_extension(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file could not be read as a strategy because of its name."""
    if not os.fspath(path).endswith(EXTENSION):
        raise UserError(
            f"a strategy is read from a file whose name ends in {EXTENSION}, but the name is "
            f"{os.fspath(path)!r}"
        )
