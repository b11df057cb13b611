"""A lexer for MLIR text that matches most tokens with one regular expression.

xDSL's lexer processes one character at a time, which takes a quarter of the time to parse a module.
Tokens that the expression does not match (strings, floats, hexadecimal numbers, errors) are left to
xDSL's lexer.
"""

from __future__ import annotations

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

_TOKEN = re.compile(
    r"""(?:\s|//[^\n]*)*+            # white space and comments
    (?: ([a-zA-Z_][a-zA-Z0-9_$.]*+)  # a name
      | ([%!\#^](?:[0-9]++|[a-zA-Z$._][a-zA-Z0-9$._-]*+))
      | (->|[:,()}\[\]<>=+*?|]|\{(?!-\#))
      | ((?!0x)[0-9]++(?!\.))
    )""",
    re.ASCII | re.VERBOSE,
)
_PREFIXES = {
    "%": MLIRTokenKind.PERCENT_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
    "#": MLIRTokenKind.HASH_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
}


class FastLexer(MLIRLexer):
    """A lexer that produces the same tokens as `MLIRLexer`."""

    def lex(self) -> MLIRToken:
        input = self.input
        match = _TOKEN.match(input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex
        assert group is not None
        start, self.pos = match.span(group)
        if group == 1:
            kind = MLIRTokenKind.BARE_IDENT
        elif group == 2:
            kind = _PREFIXES[input.content[start]]
        elif group == 3:
            kind = KIND_BY_PUNCTUATION_SPELLING[match[3]]
        else:
            kind = MLIRTokenKind.INTEGER_LIT
        return Token(kind, Span(start, self.pos, input))
