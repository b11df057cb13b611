"""The laws, in modules by topic: see README.md.

Every rule is an attribute of this module: `rules.map_fusion`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from riselang.rewrite.rule import Rule


def __getattr__(name: str) -> Rule:
    if name.startswith("__"):
        raise AttributeError(name)
    from riselang.rewrite.registry import load_all
    from riselang.rewrite.rule import RULES

    load_all()
    if name not in RULES:
        near = get_close_matches(name, RULES, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"there is no rule {name}{hint}")
    return RULES[name]


def __dir__() -> list[str]:
    from riselang.rewrite.registry import load_all
    from riselang.rewrite.rule import RULES

    load_all()
    return list(RULES)
