"""Error messages for tokens that the parser does not expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riselang.notation.hints import character_hint, token_hint
from riselang.notation.source import DIVISION_NOTE, Source
from riselang.notation.syntax import Span
from riselang.support.errors import UserError

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput, UnexpectedToken

# The terminals that start an expression or a type; one of a group is reported as the whole group.
EXPRESSION = frozenset({"NUMBER", "SPECIAL", "TRUTH", "TEXT", "FUN", "DEP_FUN", "IF", "LET"})
TYPE = frozenset({"SCALAR", "IDX", "VEC"})
OPERATOR = frozenset(
    {"BIT_OR", "BIT_XOR", "BIT_AND", "SHIFT", "PLUS", "MINUS", "TIMES", "DIVIDE", "REMAINDER",
     "WORD_OPERATOR", "COMPARISON"}
)  # fmt: skip
TERMINAL_NAMES = {
    "NAME": "a name", "LENGTH": "a length", "EXTREME": "min or max", "DEF": "'def'",
    "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "DOT": "'.'",
    "COLON": "':'", "SEMICOLON": "';'", "EQUAL": "'='", "_THEN": "'then'", "_ELSE": "'else'",
    "_TIMES_TYPE": "'x'", "_PIPE": "'|>'", "_ARROW": "'->'", "_DOUBLE_ARROW": "'=>'",
    "$END": "the end of the input", "LET": "'let'", "AT": "'@'", "KIND": "nat or data",
}  # fmt: skip
MAXIMUM_QUOTED = 20


def explain_syntax_error(error: UnexpectedInput, source: Source) -> UserError:
    """Convert a syntax error of lark to a `UserError`."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if isinstance(error, UnexpectedToken):
        return _explain_token(error, source)
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
        span = (position, position + 1)
        found = source.text[position]
        message = f"unexpected character {_quote_text(found)}{character_hint(found)}"
        return source.error(message, span, *_notes(source, span))
    return source.error("unexpected end of the input", source.end)


def _explain_token(error: UnexpectedToken, source: Source) -> UserError:
    terminals = frozenset(error.accepts or error.expected)
    expected = describe_terminals(terminals)
    token = error.token
    is_end = token.type == "$END"
    span = source.end if is_end else (token.start_pos or 0, token.end_pos or 0)
    before = source.text[: len(source.text) if is_end else span[0]]
    found = "the end of the input" if is_end else _quote_text(str(token))
    notes = () if "//" in found else _notes(source, span)
    hint = "" if notes else token_hint("" if is_end else str(token), terminals, before)
    return source.error(f"expected {expected}, but found {found}{hint}", span, *notes)


def _notes(source: Source, span: Span) -> tuple[str, ...]:
    return (DIVISION_NOTE,) if source.line_has_division(span[0]) else ()


def _quote_text(text: str) -> str:
    if len(text) > MAXIMUM_QUOTED:
        text = f"{text[:MAXIMUM_QUOTED]}..."
    return f"'{text}'" if text.isprintable() else repr(text)


def describe_terminals(terminals: frozenset[str]) -> str:
    """Describe the expected terminals in words."""
    words: list[str] = []
    if "FUN" in terminals:
        words.append("an expression")
        terminals -= EXPRESSION | {"NAME", "LPAR", "LSQB", "MINUS"}
    if terminals & TYPE:
        words.append("a type")
        terminals -= TYPE | {"NAME", "LPAR", "LENGTH", "EXTREME", "MINUS"}
    if {"EXTREME", "LENGTH"} <= terminals:
        words.append("a size")
        terminals -= {"NAME", "LPAR", "LENGTH", "EXTREME", "MINUS"}
    if terminals & OPERATOR:
        words.append("an operator")
        # Terminals that continue an operand would only make the message longer.
        terminals -= OPERATOR | {"LPAR", "LSQB", "_PIPE", "AT"}
    words += sorted({TERMINAL_NAMES.get(name, "") for name in terminals} - {""})
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
