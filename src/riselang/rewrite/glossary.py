"""The names that strategies use besides rules, with their meanings, for tables and listings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import ENTRIES, Entry, format_signature, load_all, names_by_kind
from riselang.rewrite.rule import Permission, Rule

PERMISSIONS: Mapping[Permission, str] = {
    Permission.STRICT: "the results are bitwise identical",
    Permission.RELAXED: "it adds or multiplies in a different order, which for floats requires "
    'float="relaxed"',
}
OPERATORS = {"a >> b": "__rshift__", "a | b": "__or__", "a @ address": "__matmul__"}
"""The operators that compose strategies, and the methods that implement them."""
NORMAL_FORMS = {
    "data_flow_normal_form": "No beta redex remains, and every function argument of a pattern is "
    "a lambda; every derivation starts with this form.",
    "beta_eta_normal_form": "No eta redex remains, and no `let` that costs nothing to inline.",
}


@dataclass(frozen=True)
class Definition:
    """A name that strategies may use."""

    name: str
    parameters: str | None
    """The parameters in parentheses; None if there are none."""
    summary: str

    def __str__(self) -> str:
        return self.name if self.parameters is None else f"{self.name}({self.parameters})"


def schedules() -> list[Definition]:
    """Loop transformations."""
    load_all()
    return [define_entry(entry) for entry in ENTRIES.values() if entry.is_schedule]


def whole_strategies() -> list[Definition]:
    """Return the named strategies for complete programs."""
    load_all()
    return [define_entry(entry) for entry in ENTRIES.values() if not entry.is_schedule]


def define_entry(entry: Entry) -> Definition:
    """Describe an entry: schedules have parentheses, even if empty; other strategies do not."""
    return Definition(entry.name, entry.parameters if entry.is_schedule else None, entry.summary)


def definitions_of(kind: str) -> list[Definition]:
    """Combinators (with the operators), traversals, addresses or normal forms."""
    operators = [Definition(sign, None, _first_paragraph(getattr(Strategy, method)))
                 for sign, method in OPERATORS.items()]  # fmt: skip
    definitions = [_define(name, value) for name, value in names_by_kind()[kind].items()]
    return [*operators, *definitions] if kind == "combinators" else definitions


def format_conditions(rule: Rule) -> str:
    """The side conditions of a rule, in words."""
    return "; ".join(condition.text for condition in rule.conditions)


def format_rule(rule: Rule) -> str:
    """Format a rule with its parameters."""
    return f"{rule.name}({', '.join(rule.parameters)})" if rule.parameters else rule.name


def _define(name: str, value: Any) -> Definition:
    if not inspect.isfunction(value):
        return Definition(name, None, NORMAL_FORMS.get(name) or _first_paragraph(type(value)))
    return Definition(name, format_signature(value), _first_paragraph(value))


def _first_paragraph(object: Any) -> str:
    return " ".join(inspect.cleandoc(object.__doc__ or "").partition("\n\n")[0].split())
