"""TextMate grammars for editors, generated from the tables of the Pygments lexers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from riselang.editor.tokens import MLIR, NOTATION, Token, TokenKind

PLAIN = (TokenKind.NAME, TokenKind.PUNCTUATION)
"""Tokens without a color of their own."""


def notation() -> str:
    """Return the grammar of `.rise` files."""
    return _grammar("RISE", "rise", NOTATION)


def mlir() -> str:
    """Return the grammar of `.mlir` files."""
    return _grammar("MLIR", "mlir", MLIR)


def _grammar(name: str, ending: str, table: Sequence[Token]) -> str:
    made = {
        "name": name,
        "scopeName": f"source.{ending}",
        "fileTypes": [ending],
        "comment": "Written by docs/generate.py from riselang/editor/tokens.py.",
        "patterns": [_pattern(token, ending) for token in table if token.kind not in PLAIN],
    }
    return json.dumps(made, indent=2) + "\n"


def _pattern(token: Token, ending: str) -> Mapping[str, Any]:
    name = f"{token.kind.value}.{ending}"
    if token.end is not None:
        return {"name": name, "begin": token.pattern, "end": token.end}
    return {"name": name, "match": token.pattern}
