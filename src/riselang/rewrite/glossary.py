"""What may stand in a strategy besides rules, with what it means: for tables and listings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import ENTRIES, Entry, load_all, parameters, words
from riselang.rewrite.rule import Permission, Rule

PERMISSIONS: Mapping[Permission, str] = {
    Permission.STRICT: "it computes the same bits",
    Permission.RELAXED: "it adds or multiplies in another order, which floats permit only where "
    'the program is float="relaxed"',
}
OPERATORS = {"a >> b": "__rshift__", "a | b": "__or__", "a @ address": "__matmul__"}
"""How strategies are put together by operators, and the methods that do it."""
NORMAL_FORMS = {
    "data_flow_normal_form": "No function is applied that stands there, and every function that a "
    "pattern takes is a lambda; every derivation begins with it.",
    "beta_eta_normal_form": "No function that only passes its parameter on, and no needless name.",
}


@dataclass(frozen=True)
class Word:
    """Something that strategies are made of."""

    name: str
    parameters: str | None
    """What it takes in parentheses; None where there are none."""
    summary: str

    def __str__(self) -> str:
        return self.name if self.parameters is None else f"{self.name}({self.parameters})"


def schedules() -> list[Word]:
    """What people say of loops."""
    load_all()
    return [word_for(entry) for entry in ENTRIES.values() if entry.is_schedule]


def whole_strategies() -> list[Word]:
    """Strategies for whole programs, by name."""
    load_all()
    return [word_for(entry) for entry in ENTRIES.values() if not entry.is_schedule]


def word_for(entry: Entry) -> Word:
    """A schedule is called with arguments, be there none; a strategy for a program is not."""
    return Word(entry.name, entry.parameters if entry.is_schedule else None, entry.summary)


def words_of(kind: str) -> list[Word]:
    """Combinators, traversals, addresses or normal forms; among the first are the operators."""
    operators = [Word(sign, None, _summary(getattr(Strategy, method)))
                 for sign, method in OPERATORS.items()]  # fmt: skip
    found = [_word(name, value) for name, value in words()[kind].items()]
    return [*operators, *found] if kind == "combinators" else found


def conditions(rule: Rule) -> str:
    """What has to hold for a rule, in words."""
    return "; ".join(condition.text for condition in rule.conditions)


def called(rule: Rule) -> str:
    """A rule with the sizes that a person chooses."""
    return f"{rule.name}({', '.join(rule.parameters)})" if rule.parameters else rule.name


def _word(name: str, value: Any) -> Word:
    if not inspect.isfunction(value):
        return Word(name, None, NORMAL_FORMS.get(name) or _summary(type(value)))
    return Word(name, parameters(value), _summary(value))


def _summary(defined: Any) -> str:
    return " ".join(inspect.cleandoc(defined.__doc__ or "").partition("\n\n")[0].split())
