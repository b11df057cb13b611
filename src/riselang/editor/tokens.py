"""Token tables for syntax highlighting of the notation and of MLIR, from the registries.

The Pygments lexers (`pygments_lexers.py`) and the TextMate grammars of editors are generated from
these tables. They also highlight text with errors, because text that is being edited mostly has
some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import SOURCE_SCALARS
from riselang.notation.operators import DERIVATIVES, EMBED, FUNCTIONS, KEYWORDS

LITERALS = ("true", "false", "inf", "nan")
"""The keywords that are values."""


class TokenKind(Enum):
    """The kind of a token; its value is the scope name in TextMate grammars."""

    COMMENT = "comment.line.double-slash"
    BLOCK_COMMENT = "comment.block"
    STRING = "string.quoted.double"
    KEYWORD = "keyword.control"
    LITERAL = "constant.language"
    TYPE = "storage.type"
    PATTERN = "support.function"
    FUNCTION = "support.function.scalar"
    DEFINED = "entity.name.function"
    VALUE = "variable.other"
    LABEL = "entity.name.label"
    NUMBER = "constant.numeric"
    OPERATOR = "keyword.operator"
    NAME = "variable"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True)
class Token:
    """A rule for one kind of token; one with an `end` extends over lines up to it."""

    kind: TokenKind
    pattern: str
    end: str | None = None


def words_pattern(names: Iterable[str]) -> str:
    """Return a regular expression for any of these words, longer ones first."""
    ordered = sorted(names, key=lambda name: (-len(name), name))
    return rf"\b(?:{'|'.join(map(re.escape, ordered))})\b"


NOTATION: Sequence[Token] = (
    # After an operand on the same line, '//' is a division.
    Token(TokenKind.OPERATOR, r'(?<=[\w)\]"])[^\S\n]*//'),
    Token(TokenKind.COMMENT, r"//[^\n]*"),
    Token(TokenKind.BLOCK_COMMENT, r"/\*", r"\*/"),
    Token(TokenKind.STRING, r'"(?:\\.|[^"\\])*"'),
    Token(TokenKind.DEFINED, r"(?<=\bdef )[^\W\d]\w*"),
    Token(TokenKind.KEYWORD, words_pattern(KEYWORDS - set(LITERALS))),
    Token(TokenKind.LITERAL, words_pattern(LITERALS)),
    Token(TokenKind.TYPE, words_pattern([*SOURCE_SCALARS, "idx", "vec", "nat", "data"])),
    Token(TokenKind.PATTERN, words_pattern(PATTERNS)),
    Token(TokenKind.FUNCTION, words_pattern([*FUNCTIONS, *DERIVATIVES, EMBED])),
    Token(TokenKind.NUMBER, r"\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?j?(?:_[a-z]\w*)?"),
    Token(TokenKind.NAME, r"[^\W\d]\w*"),
    Token(TokenKind.OPERATOR, r"\|>|->|=>|[<>=!]=|[-+*/%&|^<>=@]"),
    Token(TokenKind.PUNCTUATION, r"[()\[\],.:;]"),
)
MLIR: Sequence[Token] = (
    Token(TokenKind.COMMENT, r"//[^\n]*"),
    Token(TokenKind.STRING, r'"[^"\n]*"?'),
    Token(TokenKind.VALUE, r"%[\w$.-]+"),
    Token(TokenKind.DEFINED, r"@[\w$.-]+"),
    Token(TokenKind.LABEL, r"\^[\w$.-]+"),
    Token(TokenKind.TYPE, r"[!#][\w.]+"),
    Token(
        TokenKind.TYPE,
        r"(?:(?<!\w)|(?<=[\d?]x))(?:memref|tensor|vector|index|bf16|f16|f32|f64|i\d+)\b",
    ),
    Token(
        TokenKind.NUMBER, r"(?:(?<!\w)|(?<=[\d?]x))\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:x(?=[\w?]))?"
    ),
    Token(TokenKind.PATTERN, words_pattern(f"rise.{name}" for name in PATTERNS)),
    Token(TokenKind.KEYWORD, r"\b[a-z_]\w*(?:\.\w+)+"),
    Token(TokenKind.NAME, r"[^\W\d]\w*"),
    Token(TokenKind.OPERATOR, r"->|<-|[-+*/=]"),
    Token(TokenKind.PUNCTUATION, r"[()\[\]{}<>,.:;?]"),
)
