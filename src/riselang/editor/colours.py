"""Pygments lexers for the notation and for MLIR text: `pygmentize -l rise`, Sphinx, notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pygments import token
from pygments.lexer import RegexLexer

from riselang.editor.tokens import MLIR, NOTATION, Kind, Token

TOKENS: Mapping[Kind, Any] = {
    Kind.COMMENT: token.Comment.Single,
    Kind.BLOCK_COMMENT: token.Comment.Multiline,
    Kind.STRING: token.String,
    Kind.KEYWORD: token.Keyword,
    Kind.LITERAL: token.Keyword.Constant,
    Kind.TYPE: token.Keyword.Type,
    Kind.PATTERN: token.Name.Builtin,
    Kind.FUNCTION: token.Name.Builtin.Pseudo,
    Kind.DEFINED: token.Name.Function,
    Kind.VALUE: token.Name.Variable,
    Kind.LABEL: token.Name.Label,
    Kind.NUMBER: token.Number,
    Kind.OPERATOR: token.Operator,
    Kind.NAME: token.Name,
    Kind.PUNCTUATION: token.Punctuation,
}


def _rules(table: Sequence[Token]) -> list[tuple[str, Any]]:
    rules = [(r"\s+", token.Whitespace)] if table is MLIR else []
    for each in table:
        pattern = each.pattern if each.end is None else rf"{each.pattern}(?:.|\n)*?{each.end}"
        rules.append((pattern, TOKENS[each.kind]))
    # The first rule of the notation may match leading space, so the rule for space is last.
    return [*rules, (r"\s+", token.Whitespace), (r".", token.Text)]


class RiseLexer(RegexLexer):
    """The functional notation."""

    name = "RISE"
    aliases: ClassVar[Sequence[str]] = ["rise"]
    filenames: ClassVar[Sequence[str]] = ["*.rise"]
    url = ""
    tokens: ClassVar = {"root": _rules(NOTATION)}


class MLIRLexer(RegexLexer):
    """MLIR text."""

    name = "MLIR"
    aliases: ClassVar[Sequence[str]] = ["mlir"]
    filenames: ClassVar[Sequence[str]] = ["*.mlir"]
    url = ""
    tokens: ClassVar = {"root": _rules(MLIR)}
