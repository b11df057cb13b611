"""Rules that are defined as all are, but are not known to anything else."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Rule


@contextmanager
def rules_apart() -> Generator[dict[str, Rule]]:
    """Gives the rules that are defined inside; the registry is as it was afterwards."""
    load_all()
    known, apart = dict(RULES), dict[str, Rule]()
    RULES.clear()
    try:
        yield apart
        apart.update(RULES)
    finally:
        RULES.clear()
        RULES.update(known)
