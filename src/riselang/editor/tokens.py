"""Token tables for syntax highlighting of the notation and of MLIR, from the registries.

The Pygments lexers (`colours.py`) and the TextMate grammars of editors are generated from these
tables. They also highlight text with errors, because text that is being edited mostly has some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import SCALARS
from riselang.notation.operators import EMBED, FUNCTIONS, KEYWORDS

LITERALS = ("true", "false", "inf", "nan")
"""The keywords that are values."""


class Kind(Enum):
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

    kind: Kind
    pattern: str
    end: str | None = None


def words(names: Iterable[str]) -> str:
    """Return a regular expression for any of these words, longer ones first."""
    ordered = sorted(names, key=lambda name: (-len(name), name))
    return rf"\b(?:{'|'.join(map(re.escape, ordered))})\b"


NOTATION: Sequence[Token] = (
    # After an operand on the same line, '//' is a division.
    Token(Kind.OPERATOR, r'(?<=[\w)\]"])[^\S\n]*//'),
    Token(Kind.COMMENT, r"//[^\n]*"),
    Token(Kind.BLOCK_COMMENT, r"/\*", r"\*/"),
    Token(Kind.STRING, r'"(?:\\.|[^"\\])*"'),
    Token(Kind.DEFINED, r"(?<=\bdef )[^\W\d]\w*"),
    Token(Kind.KEYWORD, words(KEYWORDS - set(LITERALS))),
    Token(Kind.LITERAL, words(LITERALS)),
    Token(Kind.TYPE, words([*SCALARS, "idx", "vec", "nat", "data"])),
    Token(Kind.PATTERN, words(PATTERNS)),
    Token(Kind.FUNCTION, words([*FUNCTIONS, EMBED])),
    Token(Kind.NUMBER, r"\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:_[a-z]\w*)?"),
    Token(Kind.NAME, r"[^\W\d]\w*"),
    Token(Kind.OPERATOR, r"\|>|->|=>|[<>=!]=|[-+*/%&|^<>=@]"),
    Token(Kind.PUNCTUATION, r"[()\[\],.:;]"),
)
MLIR: Sequence[Token] = (
    Token(Kind.COMMENT, r"//[^\n]*"),
    Token(Kind.STRING, r'"[^"\n]*"?'),
    Token(Kind.VALUE, r"%[\w$.-]+"),
    Token(Kind.DEFINED, r"@[\w$.-]+"),
    Token(Kind.LABEL, r"\^[\w$.-]+"),
    Token(Kind.TYPE, r"[!#][\w.]+"),
    Token(
        Kind.TYPE, r"(?:(?<!\w)|(?<=[\d?]x))(?:memref|tensor|vector|index|bf16|f16|f32|f64|i\d+)\b"
    ),
    Token(Kind.NUMBER, r"(?:(?<!\w)|(?<=[\d?]x))\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:x(?=[\w?]))?"),
    Token(Kind.PATTERN, words(f"rise.{name}" for name in PATTERNS)),
    Token(Kind.KEYWORD, r"\b[a-z_]\w*(?:\.\w+)+"),
    Token(Kind.NAME, r"[^\W\d]\w*"),
    Token(Kind.OPERATOR, r"->|<-|[-+*/=]"),
    Token(Kind.PUNCTUATION, r"[()\[\]{}<>,.:;?]"),
)
