"""The lists of `rise rules`, `rise strategies` and `rise-opt`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from riselang.rewrite.combinators import Named
from riselang.rewrite.derivation_checks import law_status
from riselang.rewrite.extra_work import format_extra_work
from riselang.rewrite.glossary import (
    PERMISSIONS,
    Definition,
    define_entry,
    definitions_of,
    format_conditions,
    format_rule,
    schedules,
    whole_strategies,
)
from riselang.rewrite.registry import ENTRIES, RULE_FAMILIES, load_all, names_by_kind
from riselang.rewrite.rule import RULES, Permission, Rule
from riselang.support.errors import UserError
from riselang.support.spelling import closest_name

T = TypeVar("T")
COMMANDS = {"rule": "rules", "strategy": "strategies"}
COLUMN = 28
"""The column of the description."""


def list_rules() -> str:
    """List all rules by family, with their signatures, laws and side conditions."""
    load_all()
    other_families = dict.fromkeys(rule.family for rule in RULES.values())
    families = {family: [rule for rule in RULES.values() if rule.family == family]
                for family in dict.fromkeys((*RULE_FAMILIES, *other_families))}  # fmt: skip
    return "\n".join(
        _format_section(family, rules, _rule_lines) for family, rules in families.items()
    )


def describe_rule(name: str) -> str:
    """Describe a rule in full."""
    load_all()
    rule = _look_up(name, "rule", RULES)
    permission = f"{rule.permission.value}: {PERMISSIONS[rule.permission]}"
    facts = {
        "law": str(rule.law), "for all": rule.law.parameters,
        "you choose": ", ".join(rule.parameters), "condition": format_conditions(rule),
        "extra work": format_extra_work(rule), "permission": permission,
        "status": str(law_status(rule)), "family": rule.family,
    }  # fmt: skip
    lines = [format_rule(rule), *(f"  {what:<11} {text}" for what, text in facts.items() if text)]
    return _join_lines([*lines, *([f"  {rule.summary}"] if rule.summary else [])])


def list_strategies() -> str:
    """List the schedules and strategies, and the combinators that compose them."""
    sections: dict[str, list[Definition]] = {
        "schedules": schedules(),
        "strategies": whole_strategies(),
    }
    sections |= {kind: definitions_of(kind) for kind in names_by_kind()}
    return "\n".join(
        _format_section(kind, words, _word_lines) for kind, words in sections.items() if words
    )


def describe_strategy(name: str) -> str:
    """Describe a schedule or strategy; one without parameters is also expanded."""
    load_all()
    entry = _look_up(name, "strategy", ENTRIES)
    lines = [str(define_entry(entry)), f"  {entry.summary}"]
    if not entry.parameters:
        strategy = entry.make()
        lines += [f"  = {strategy.strategy}"] if isinstance(strategy, Named) else []
    return _join_lines(lines)


def _look_up(name: str, kind: str, entries: Mapping[str, T]) -> T:
    if name in entries:
        return entries[name]
    suggestion = closest_name(name, entries)
    hint = f"did you mean {suggestion}?" if suggestion else f"'rise {COMMANDS[kind]}' lists all"
    raise UserError(f"there is no {kind} {name}; {hint}")


def _format_section(title: str, entries: Iterable[T], lines: Callable[[T], list[str]]) -> str:
    return _join_lines([title, *(f"  {line}" for entry in entries for line in lines(entry))])


def _rule_lines(rule: Rule) -> list[str]:
    needs = [f"where {format_conditions(rule)}"] if rule.conditions else []
    if rule.permission is Permission.RELAXED:
        needs.append('on floats only with float="relaxed"')
    return _align(format_rule(rule), [str(rule.law), *needs])


def _word_lines(word: Definition) -> list[str]:
    return _align(str(word), [word.summary])


def _align(name: str, lines: Sequence[str]) -> list[str]:
    """Put a description to the right of a name, or below it if the name is long."""
    if len(name) >= COLUMN:
        return [name, *(" " * COLUMN + line for line in lines)]
    first, *continuations = lines
    return [name.ljust(COLUMN) + first, *(" " * COLUMN + line for line in continuations)]


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
