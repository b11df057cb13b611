"""The vocabulary of the notation, with descriptions, from the registries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import SOURCE_SCALARS
from riselang.editor.answers import Completion, Extent
from riselang.notation.operators import DERIVATIVES, EMBED, FUNCTIONS, KEYWORDS, ScalarFunction

_WORD = re.compile(r"[^\W\d]\w*")


def word_at(text: str, offset: int, pattern: re.Pattern[str] = _WORD) -> tuple[str, Extent] | None:
    """Return the word around an offset, or directly before it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for match in pattern.finditer(text, start, len(text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return match[0], match.span()
    return None


def describe_pattern(spec: PatternSpec) -> str:
    """Describe a pattern, in Markdown."""
    return f"```rise\n{spec!r}\n```\n{spec.description[0].upper()}{spec.description[1:]}."


def describe_function(function: ScalarFunction) -> str:
    """Describe a function on scalars, in Markdown."""
    needs = f", with {function.needs} in brackets" if function.needs else ""
    if function.takes_order:
        needs = f"; `{function.name}[any]` in a reduction permits any order"
    operands = "operand" if function.arity == 1 else "operands"
    return f"`{function.name}`: a function on scalars of {function.arity} {operands}{needs}."


@cache
def notation_completions() -> tuple[Completion, ...]:
    """Return the patterns, functions on scalars, types and keywords of the notation."""
    return tuple(_make_notation_completions())


def _make_notation_completions() -> Iterator[Completion]:
    for spec in PATTERNS.values():
        yield Completion(spec.name, "function", repr(spec), describe_pattern(spec))
    for function in FUNCTIONS.values():
        if function.name not in PATTERNS:
            yield Completion(function.name, "operator", "scalars", describe_function(function))
    yield Completion(EMBED, "operator", 'embed[f32]("...", a)', "Ops of other dialects on scalars.")
    for name, result in DERIVATIVES.items():
        yield Completion(name, "operator", f"{name}(f)", f"{result[0].upper()}{result[1:]}.")
    for name in SOURCE_SCALARS:
        yield Completion(name, "type", "a scalar type")
    for word in sorted(KEYWORDS):
        yield Completion(word, "keyword")
