"""Editor support for strategies in files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from riselang.editor.answers import Completion, Extent, Hover
from riselang.editor.vocabulary import word_at
from riselang.rewrite.glossary import (
    definitions_of,
    format_conditions,
    format_rule,
    schedules,
    whole_strategies,
)
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import RiseError

_NAME = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True)
class StrategyDocument:
    """A `.strategy` file."""

    text: str
    problems: Sequence[RiseError]

    @staticmethod
    def of(text: str, name: str) -> StrategyDocument:
        try:
            parse_strategy(text, name)
        except RiseError as error:
            return StrategyDocument(text, [error])
        return StrategyDocument(text, [])

    def hover(self, offset: int) -> Hover | None:
        match = word_at(self.text, offset, _NAME)
        definitions = {each.label: each for each in strategy_completions()}
        if match is None or match[0] not in definitions:
            return None
        word = definitions[match[0]]
        return Hover(f"```\n{word.detail}\n```\n{word.documentation}", match[1])

    def definition(self, offset: int) -> Extent | None:
        """Return the extent of the name of a strategy that a line of the file defines."""
        match = word_at(self.text, offset, _NAME)
        if match is None:
            return None
        definition = re.search(rf"^({re.escape(match[0])})\s*=(?!=)", self.text, re.MULTILINE)
        return None if definition is None else definition.span(1)

    def completions(self, offset: int) -> Sequence[Completion]:
        definitions = re.findall(r"^([^\W\d]\w*)\s*=(?!=)", self.text, re.MULTILINE)
        return [*(Completion(name, "variable") for name in definitions), *strategy_completions()]

    def format(self) -> str | None:
        return None


@cache
def strategy_completions() -> tuple[Completion, ...]:
    """Return the rules, schedules and combinators."""
    return tuple(_make_strategy_completions())


def _make_strategy_completions() -> Iterator[Completion]:
    load_all()
    for rule in RULES.values():
        condition = format_conditions(rule)
        needs = f", where {condition}" if condition else ""
        text = f"`{rule.law}`{needs}"
        yield Completion(rule.name, "function", format_rule(rule), text)
    kinds = ("combinators", "traversals", "addresses", "normal forms")
    words = [
        *schedules(),
        *whole_strategies(),
        *(word for kind in kinds for word in definitions_of(kind)),
    ]
    for word in words:
        if _NAME.fullmatch(word.name):
            yield Completion(word.name, "function", str(word), word.summary)
