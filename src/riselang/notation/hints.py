"""Hints for the syntax of other languages, and how it is written in this notation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from riselang.dialects.rise.types import SOURCE_SCALARS
from riselang.notation.operators import INFIX
from riselang.support.spelling import closest_name

FUNCTION = "a function is written fun(x, body), or fun((x, y), body)"
_LET = "a let is written let x = value; body"
_AND = "write & for and, | for or, and put comparisons in parentheses"
_PARTS = "the components of a pair are fst(p) and snd(p)"
_ELEMENT = "an element is x |> at(i), where clampIdx(n, i) converts a number to an index"
_LENGTHS = "write the length before the type of the elements: N.f32"
CHARACTER_HINTS: Mapping[str, str] = {
    "#": "a comment starts with //",
    "\\": FUNCTION,
    "{": "parentheses group expressions, and options are in brackets: mapSeq[affine]",
    '"': 'a string ends with " and is the region of an embed: embed[f32]("...", a)',
    "!": "for not a, write a == false; for not equal, write !=",
}
WORD_HINTS: Mapping[str, str] = {
    "in": _LET,
    "and": _AND,
    "or": _AND,
    "&": _AND,
    "where": _LET,
}
PRECEDING_WORD_HINTS: Mapping[str, str] = {
    "lambda": FUNCTION,
    "not": "for not a, write a == false",
    "import": "a file in notation contains only definitions: def name = ...",
    "return": "the value of a function is its body, without a keyword before it",
}
TYPE_HINTS: Mapping[str, str] = {
    "float": "the scalar types are f16, bf16, f32 and f64",
    "double": "the scalar types are f16, bf16, f32 and f64",
    "int": "the scalar types are i8, i16, i32 and i64",
    "bool": "the type of Booleans is i1",
    "complex": "the types of complex numbers are complex64 and complex128",
}
"""Hints for the types of other languages."""


def character_hint(character: str) -> str:
    return f"; {CHARACTER_HINTS[character]}" if character in CHARACTER_HINTS else ""


def type_hint(name: str) -> str:
    """Return a hint for a name that is not a type."""
    if name in TYPE_HINTS:
        return f"; {TYPE_HINTS[name]}"
    suggestion = closest_name(name, SOURCE_SCALARS)
    return f"; did you mean '{suggestion}'?" if suggestion else f"; {_LENGTHS}"


def token_hint(found: str, expected: frozenset[str], before: str) -> str:
    """Return a hint for the unexpected token `found`, given the text before it; may be empty."""
    hint = _find_hint(found, expected, before.rstrip())
    return f"; {hint}" if hint else ""


def _find_hint(found: str, expected: frozenset[str], before: str) -> str | None:
    last = re.search(r"\w*\Z", before)
    word = last[0] if last else ""
    if found in WORD_HINTS and "FUN" not in expected:
        return WORD_HINTS[found]
    if word in PRECEDING_WORD_HINTS:
        return PRECEDING_WORD_HINTS[word]
    return (
        _operator_hint(found, expected, before)
        or _type_hint(found, expected)
        or _function_hint(found, expected, before)
        or _parenthesis_hint(found, expected, before)
    )


def _function_hint(found: str, expected: frozenset[str], before: str) -> str | None:
    if re.search(r"(?<!\w)fun\Z", before) or (found == ")" and "_DOUBLE_ARROW" in expected):
        return FUNCTION
    if found == "(" and re.search(r"(?<!\w)def\s+\w+\Z", before):
        return "a function is defined by def f = fun(x, body)"
    if found in (":", ",") and "RPAR" in expected and "fun" in before and "FUN" not in expected:
        return FUNCTION if found == ":" or re.search(r"fun\(\w+,[^()]*\Z", before) else None
    if "SEMICOLON" in expected and "(" not in found:
        return _LET
    if found == ">" and before.endswith("-"):
        return FUNCTION
    if "DEF" in expected and "$END" in expected:
        return "a file is one expression, or definitions: def main = ..."
    return None


def _type_hint(found: str, expected: frozenset[str]) -> str | None:
    if found in ("/", "//") and "DIVIDE" not in expected:
        return "sizes are divided by floordiv and mod: (N floordiv 2).f32"
    if "_TIMES_TYPE" in expected and found in (",", "*"):
        return "the type of a pair is written (f32 x i32)"
    is_after_type = "_ARROW" in expected and found in (".", "[")
    if is_after_type or expected == frozenset({"DOT"}) or (found == "[" and "SCALAR" in expected):
        return _LENGTHS
    return None


def _operator_hint(found: str, expected: frozenset[str], before: str) -> str | None:
    if found == "&" and before.endswith("&"):
        return _AND
    if found == "=" and "COMPARISON" in expected:
        is_definition = re.fullmatch(r"[^\W\d]\w*(\(.*\))?\s*", before.strip())
        return "a definition is def f = ..." if is_definition else "write == for equality"
    if found in ("<", "<=", ">", ">=", "==", "!="):
        return "put each comparison in parentheses"
    if found == "*" and before.endswith("*"):
        return "use pow(a, b) for a power"
    if found == "." and "PLUS" in expected:
        return _PARTS
    if found == "]" and re.search(r"\w\s*\[[^\[\]]*\Z", before):
        return _ELEMENT
    if "FUN" in expected and found in INFIX:
        return f"as a function, {found} is written {INFIX[found]}"
    if found in (")", ",") and re.search(r"[(,]\s*[-+*/&|^]\Z", before):
        return f"as a function, {before[-1]} is written {INFIX[before[-1]]}"
    return None


def _parenthesis_hint(found: str, expected: frozenset[str], before: str) -> str | None:
    if not found and "RPAR" in expected:
        line, column = _last_unclosed(before)
        return f"the '(' at {line}:{column} is not closed"
    if found == ")" and "$END" in expected:
        return "there is no matching '('"
    if "PLUS" in expected and re.match(r"\w", found) and re.search(r"(?<!\w)[^\W\d]\w*\Z", before):
        return "a function is applied by f(a, b)"
    return None


def _last_unclosed(text: str) -> tuple[int, int]:
    """Return the line and column of the last parenthesis that is not closed."""
    stack: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            stack.append(match.start())
        elif stack:
            stack.pop()
    offset = stack[-1] if stack else 0
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
