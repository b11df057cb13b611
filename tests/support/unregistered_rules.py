"""Rules that are defined like all others, but are not in the registry."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Rule


@contextmanager
def unregistered_rules() -> Generator[dict[str, Rule]]:
    """Collect the rules that are defined inside, and restore the registry afterwards."""
    load_all()
    registered, collected = dict(RULES), dict[str, Rule]()
    RULES.clear()
    try:
        yield collected
        collected.update(RULES)
    finally:
        RULES.clear()
        RULES.update(registered)
