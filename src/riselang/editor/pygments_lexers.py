"""Pygments lexers for the notation and for MLIR text: `pygmentize -l rise`, Sphinx, notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pygments import token
from pygments.lexer import RegexLexer

from riselang.editor.tokens import MLIR, NOTATION, Token, TokenKind

PYGMENTS_TOKENS: Mapping[TokenKind, Any] = {
    TokenKind.COMMENT: token.Comment.Single,
    TokenKind.BLOCK_COMMENT: token.Comment.Multiline,
    TokenKind.STRING: token.String,
    TokenKind.KEYWORD: token.Keyword,
    TokenKind.LITERAL: token.Keyword.Constant,
    TokenKind.TYPE: token.Keyword.Type,
    TokenKind.PATTERN: token.Name.Builtin,
    TokenKind.FUNCTION: token.Name.Builtin.Pseudo,
    TokenKind.DEFINED: token.Name.Function,
    TokenKind.VALUE: token.Name.Variable,
    TokenKind.LABEL: token.Name.Label,
    TokenKind.NUMBER: token.Number,
    TokenKind.OPERATOR: token.Operator,
    TokenKind.NAME: token.Name,
    TokenKind.PUNCTUATION: token.Punctuation,
}


def _lexer_rules(table: Sequence[Token]) -> list[tuple[str, Any]]:
    rules = [(r"\s+", token.Whitespace)] if table is MLIR else []
    for each in table:
        pattern = each.pattern if each.end is None else rf"{each.pattern}(?:.|\n)*?{each.end}"
        rules.append((pattern, PYGMENTS_TOKENS[each.kind]))
    # The first rule of the notation may match leading space, so the rule for space is last.
    return [*rules, (r"\s+", token.Whitespace), (r".", token.Text)]


class RiseLexer(RegexLexer):
    """The functional notation."""

    name = "RISE"
    aliases: ClassVar[Sequence[str]] = ["rise"]
    filenames: ClassVar[Sequence[str]] = ["*.rise"]
    url = ""
    tokens: ClassVar = {"root": _lexer_rules(NOTATION)}


class MLIRLexer(RegexLexer):
    """MLIR text."""

    name = "MLIR"
    aliases: ClassVar[Sequence[str]] = ["mlir"]
    filenames: ClassVar[Sequence[str]] = ["*.mlir"]
    url = ""
    tokens: ClassVar = {"root": _lexer_rules(MLIR)}
