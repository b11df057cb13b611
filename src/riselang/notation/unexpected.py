"""What the parser did not expect, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riselang.errors import UserError
from riselang.notation.source import DIVISION_NOTE, Source
from riselang.notation.syntax import Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput, UnexpectedToken

# What starts an expression, and what a type; any of a group names the whole group.
EXPRESSION = frozenset({"NUMBER", "SPECIAL", "TRUTH", "FUN", "IF", "LET"})
TYPE = frozenset({"SCALAR", "IDX", "VEC"})
OPERATOR = frozenset(
    {"BIT_OR", "BIT_XOR", "BIT_AND", "PLUS", "MINUS", "TIMES", "DIVIDE", "REMAINDER",
     "WORD_OPERATOR", "COMPARISON"}
)  # fmt: skip
WORDS = {
    "NAME": "a name", "LENGTH": "a length", "EXTREME": "min or max", "DEF": "'def'",
    "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "DOT": "'.'",
    "COLON": "':'", "SEMICOLON": "';'", "EQUAL": "'='", "_THEN": "'then'", "_ELSE": "'else'",
    "_TIMES_TYPE": "'x'", "_PIPE": "'|>'", "_ARROW": "'->'", "_DOUBLE_ARROW": "'=>'",
    "$END": "the end", "LET": "'let'",
}  # fmt: skip
MAXIMUM_SHOWN = 20


def explain(error: UnexpectedInput, source: Source) -> UserError:
    """The error for what lark found wrong."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if isinstance(error, UnexpectedToken):
        return _unexpected_token(error, source)
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
        span = (position, position + 1)
        message = f"unexpected character {_shown(source.text[position])}"
        return source.error(message, span, *_notes(source, span))
    return source.error("expected more, but found the end", source.end)


def _unexpected_token(error: UnexpectedToken, source: Source) -> UserError:
    expected = in_words(frozenset(error.accepts or error.expected))
    token = error.token
    if token.type == "$END":
        return source.error(f"expected {expected}, but found the end", source.end)
    span = (token.start_pos or 0, token.end_pos or 0)
    return source.error(
        f"expected {expected}, but found {_shown(str(token))}", span, *_notes(source, span)
    )


def _notes(source: Source, span: Span) -> tuple[str, ...]:
    return (DIVISION_NOTE,) if source.line_has_division(span[0]) else ()


def _shown(text: str) -> str:
    if len(text) > MAXIMUM_SHOWN:
        text = f"{text[:MAXIMUM_SHOWN]}..."
    return f"'{text}'" if text.isprintable() else repr(text)


def in_words(terminals: frozenset[str]) -> str:
    """The terminals that would do, as people call them."""
    words: list[str] = []
    if "FUN" in terminals:
        words.append("an expression")
        terminals -= EXPRESSION | {"NAME", "LPAR", "MINUS"}
    if terminals & TYPE:
        words.append("a type")
        terminals -= TYPE | {"NAME", "LPAR", "LENGTH", "EXTREME", "MINUS"}
    if {"EXTREME", "LENGTH"} <= terminals:
        words.append("a size")
        terminals -= {"NAME", "LPAR", "LENGTH", "EXTREME", "MINUS"}
    if terminals & OPERATOR:
        words.append("an operator")
        # What continues an operand is not worth its place here.
        terminals -= OPERATOR | {"LPAR", "LSQB", "_PIPE"}
    words += sorted({WORDS.get(name, "") for name in terminals} - {""})
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
