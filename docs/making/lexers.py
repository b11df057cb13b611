"""Colours for the notation and for MLIR text.

Text that is wrong is coloured too: the pages about errors show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

from riselang.dialects.rise.schemes import PATTERNS


class RiseLexer(RegexLexer):
    """The functional notation."""

    name = "RISE"
    aliases: ClassVar[Sequence[str]] = ["rise"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*(.|\n)*?\*/", Comment.Multiline),
            (words(("def", "let", "if", "then", "else", "fun"), r"\b", r"\b"), Keyword),
            (r"\b(bf16|f16|f32|f64|i1|i8|i16|i32|i64|index|idx|vec)\b", Keyword.Type),
            (words(tuple(PATTERNS), r"\b", r"\b"), Name.Builtin),
            (r"\d+(\.\d+)?([eE][+-]?\d+)?(_\w+)?", Number),
            (r"[^\W\d]\w*", Name),
            (r"\|>|->|=>|//|[<>=!]=|[-+*/%&|^<>=]", Operator),
            (r"[()\[\],.:;]", Punctuation),
            (r".", Text),
        ]
    }


class MLIRLexer(RegexLexer):
    """MLIR text."""

    name = "MLIR"
    aliases: ClassVar[Sequence[str]] = ["mlir"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r'"[^"\n]*"?', String),
            (r"%[\w$.-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"[!#][\w.]+", Keyword.Type),
            (r"\b(memref|f16|bf16|f32|f64|index|i\d+)\b", Keyword.Type),
            (r"\d+(\.\d+)?([eE][+-]?\d+)?(x(?=[\w?]))?", Number),
            (r"[a-z_]\w*(\.\w+)+", Name.Builtin),
            (r"[^\W\d]\w*", Name),
            (r"->|<-|[-+*/=]", Operator),
            (r"[()\[\]{}<>,.:;?]", Punctuation),
            (r".", Text),
        ]
    }
