"""The laws, in modules by topic: see README.md.

Every rule is an attribute of this module: `rules.map_fusion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riselang.support.spelling import closest_name

if TYPE_CHECKING:
    from riselang.rewrite.rule import Rule


def __getattr__(name: str) -> Rule:
    if name.startswith("__"):
        raise AttributeError(name)
    from riselang.rewrite.registry import load_all
    from riselang.rewrite.rule import RULES

    load_all()
    if name not in RULES:
        suggestion = closest_name(name, RULES)
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        raise AttributeError(f"there is no rule {name}{hint}")
    return RULES[name]


def __dir__() -> list[str]:
    from riselang.rewrite.registry import load_all
    from riselang.rewrite.rule import RULES

    load_all()
    return list(RULES)
