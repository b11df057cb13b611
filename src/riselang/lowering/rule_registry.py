"""Which method of a lowering translates each pattern: the rules mark themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

READ_RULES: dict[str, str] = {}
"""The method that reads each pattern, by the name of the pattern."""
STORE_RULES: dict[str, str] = {}
"""The method that stores each pattern without a copy; other patterns are read, then stored."""
Rule = TypeVar("Rule", bound=Callable[..., Any])


def reads(*patterns: str) -> Callable[[Rule], Rule]:
    """Mark a method as the rule that reads these patterns."""
    return _register(READ_RULES, patterns)


def stores(*patterns: str) -> Callable[[Rule], Rule]:
    """Mark a method as the rule that stores these patterns."""
    return _register(STORE_RULES, patterns)


def _register(rules: dict[str, str], patterns: tuple[str, ...]) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        rules.update(dict.fromkeys(patterns, rule.__name__))
        return rule

    return register
